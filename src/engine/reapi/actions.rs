//! The action cache: results under the digest of an action.

use super::proto::action_cache_client::ActionCacheClient;
use super::proto::{self, ActionResult};
use super::{Blob, Capabilities, Client, Result};

impl Client {
    /// The result of an action, if the cache has one.
    pub(crate) fn action_result(
        &self,
        can: &Capabilities,
        what: &str,
        action: &Blob,
    ) -> Result<ActionResult> {
        let message = proto::GetActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action.to_proto()),
            digest_function: can.function.number(),
            ..Default::default()
        };
        let mut client = ActionCacheClient::new(self.channel.clone());
        self.call(what, client.get_action_result(self.request(message)))
    }

    /// Sets the result of an action. What it names is there.
    pub(crate) fn set_action_result(
        &self,
        can: &Capabilities,
        what: &str,
        action: &Blob,
        result: ActionResult,
    ) -> Result<()> {
        let message = proto::UpdateActionResultRequest {
            instance_name: self.instance.clone(),
            action_digest: Some(action.to_proto()),
            action_result: Some(result),
            digest_function: can.function.number(),
            ..Default::default()
        };
        let mut client = ActionCacheClient::new(self.channel.clone());
        self.call(what, client.update_action_result(self.request(message))).map(drop)
    }
}
