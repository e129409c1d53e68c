//! What can go wrong between us and libvirt, told apart by what the user has to do about it.

use crate::base::hint::Hint;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LibvirtError {
    #[error("`virsh` is not in PATH")]
    NoClient,
    /// No daemon answers at the connection URI.
    #[error("libvirt is not running at `{uri}`: {message}")]
    NotRunning { uri: String, message: String },
    #[error("libvirt at `{uri}` denies access: {message}")]
    Forbidden { uri: String, message: String },
    /// The transport failed: ssh, TLS, name resolution.
    #[error("libvirt at `{uri}` cannot be reached: {message}")]
    Unreachable { uri: String, message: String },
    /// A URI that is not QEMU's, or that libvirt cannot parse.
    #[error("`{uri}` is not a connection that tinderbox can use: {message}")]
    Unsupported { uri: String, message: String },
    #[error("`virsh {command}` failed: {message}")]
    Command { command: String, message: String },
    #[error("{what} is not XML")]
    Xml { what: String, source: roxmltree::Error },
    #[error("libvirt's list of {what} changed while it was read")]
    Changed { what: &'static str },
    /// The network would have to be restarted, which cuts its machines off.
    #[error("the network `{name}` has to be restarted, but machines are attached to it: `{}`", machines.join("`, `"))]
    NetworkInUse { name: String, machines: Vec<String> },
    #[error("`{name}` cannot be uploaded: its content is not on this machine")]
    NoSource {
        /// The name of the volume.
        name: String,
    },
    #[error("`{path}` is not the image that the lock pins: its sha256 is {found}, not {expected}")]
    ImageMismatch { path: String, expected: String, found: String },
}

impl LibvirtError {
    /// Whether libvirt could not be asked at all, so that nothing is known about its machines.
    pub(crate) fn is_connection(&self) -> bool {
        matches!(
            self,
            Self::NotRunning { .. }
                | Self::Forbidden { .. }
                | Self::Unreachable { .. }
                | Self::Unsupported { .. }
        )
    }

    /// Whether libvirt answered, and refused or failed to do what it was asked.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Command { .. })
    }
}

impl Hint for LibvirtError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoClient => {
                "install libvirt's client (Debian: libvirt-clients, Fedora: libvirt-client)".into()
            }
            Self::NotRunning { .. } => {
                "start it (`sudo systemctl start libvirtd`, or `sudo libvirtd -d` on a host without systemd), or set \
                 `libvirt.uri` in cluster.yaml"
                    .into()
            }
            Self::Forbidden { .. } => {
                "join the group `libvirt` (`sudo usermod -aG libvirt $USER`, then log in again), or use \
                 `qemu:///session` in cluster.yaml; if you are a member already, check that it runs (`systemctl status \
                 libvirtd virtqemud.socket`)"
                    .into()
            }
            Self::Unreachable { uri, message } if message.contains("ssh: connect to host") => {
                format!("check that the host is up and runs an SSH server, then try `virsh -c {uri} list`")
            }
            Self::Unreachable { uri, message } if message.contains("(publickey") => {
                format!("the host does not accept your SSH key: add it there (`ssh-copy-id`), then try `virsh -c {uri} list`")
            }
            Self::Unreachable { uri, message } if message.contains("ertificate") => {
                format!("put the certificates for TLS where libvirt looks for them, or use `qemu+ssh://USER@HOST/system`; then try `virsh -c {uri} list`")
            }
            Self::Unreachable { uri, message } if message.contains("Could not resolve") => {
                format!("check the host's name in `libvirt.uri`, then try `virsh -c {uri} list`")
            }
            Self::Unreachable { uri, message } if message.contains("unable to connect to server") => {
                format!("check that the host is up and that its libvirt listens there, then try `virsh -c {uri} list`")
            }
            Self::Unreachable { uri, .. } => format!("try `virsh -c {uri} list`"),
            Self::Unsupported { .. } => {
                "set `libvirt.uri` in cluster.yaml to `qemu:///system`, or to `qemu+ssh://USER@HOST/system` for another machine"
                    .into()
            }
            Self::Changed { .. } => "run it again".into(),
            Self::NetworkInUse { .. } => {
                "shut the machines down first; `tinderbox realize apply` starts them again".into()
            }
            Self::ImageMismatch { .. } => {
                "`tinderbox lock --fetch qcow2` gets a damaged download again; `tinderbox lock --update rhcos` pins an image of \
                 your own, and the nodes are then reinstalled"
                    .into()
            }
            Self::Command { .. } | Self::Xml { .. } | Self::NoSource { .. } => return None,
        })
    }
}
