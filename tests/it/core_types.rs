//! The table of Kubernetes' types is what k8s-openapi says. Compiling that crate takes a minute, so it is a feature:
//! `cargo test --features core-types --test it core_types`; with TINDERBOX_WRITE_TABLE=1 the table is written anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::schemars::{SchemaGenerator, generate::SchemaSettings};
use k8s_openapi::{api, apiextensions_apiserver, kube_aggregator};
use serde_json::Value;

use crate::harness::source;

const HEAD: &str = "\
# Types of Kubernetes 1.32 (OpenShift 4.19), taken from the crate k8s-openapi 0.27.1, which takes them from Kubernetes'
# own OpenAPI document; both are Apache-2.0. Written by tests/it/core_types.rs: do not edit.
#
# `= apiVersion Kind Type` names an object; `Type` alone opens a type, and its fields follow, `!` for required ones.
# []x is a list, {}x a map; what has a dot is a type of this table.
";

macro_rules! kinds {
    ($generator:ident, $($version:literal => $module:path { $($kind:ident)* })*) => {
        vec![$($({
            use $module as module;
            ($version, stringify!($kind), reference(&$generator.subschema_for::<module::$kind>().to_value()))
        }),*),*]
    };
}

fn kinds(generator: &mut SchemaGenerator) -> Vec<(&'static str, &'static str, String)> {
    let mut all = kinds! { generator,
        "v1" => api::core::v1 {
            ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate
            ReplicationController ResourceQuota Secret Service ServiceAccount
        }
        "admissionregistration.k8s.io/v1" => api::admissionregistration::v1 {
            MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
            ValidatingWebhookConfiguration
        }
        "apiextensions.k8s.io/v1" => apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
        "apiregistration.k8s.io/v1" => kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
        "apps/v1" => api::apps::v1 { ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet }
        "autoscaling/v2" => api::autoscaling::v2 { HorizontalPodAutoscaler }
        "batch/v1" => api::batch::v1 { CronJob Job }
        "certificates.k8s.io/v1" => api::certificates::v1 { CertificateSigningRequest }
        "coordination.k8s.io/v1" => api::coordination::v1 { Lease }
        "discovery.k8s.io/v1" => api::discovery::v1 { EndpointSlice }
        "flowcontrol.apiserver.k8s.io/v1" => api::flowcontrol::v1 { FlowSchema PriorityLevelConfiguration }
        "networking.k8s.io/v1" => api::networking::v1 { Ingress IngressClass NetworkPolicy }
        "node.k8s.io/v1" => api::node::v1 { RuntimeClass }
        "policy/v1" => api::policy::v1 { PodDisruptionBudget }
        "rbac.authorization.k8s.io/v1" => api::rbac::v1 { ClusterRole ClusterRoleBinding Role RoleBinding }
        "scheduling.k8s.io/v1" => api::scheduling::v1 { PriorityClass }
        "storage.k8s.io/v1" => api::storage::v1 {
            CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
        }
    };
    all.sort();
    all
}

/// `core.v1.Pod` of `#/definitions/io.k8s.api.core.v1.Pod`.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    parts[parts.len().saturating_sub(3)..].join(".")
}

fn reference(schema: &Value) -> String {
    short(schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap())
}

/// A type in the table's words.
fn words(schema: &Value, definitions: &serde_json::Map<String, Value>) -> String {
    // A reference with a description of its own.
    if let [only] = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default() {
        return words(only, definitions);
    }
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap();
        let found = &definitions[name];
        return match (short(name).as_str(), found["properties"].is_object()) {
            ("api.resource.Quantity", _) => "quantity".into(),
            (_, true) => short(name),
            (_, false) => words(found, definitions),
        };
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "int-or-string".into();
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), Some("date-time")) => "time".into(),
        (Some("string"), Some("byte")) => "bytes".into(),
        (Some("string"), _) => "string".into(),
        (Some("boolean"), _) => "bool".into(),
        (Some("integer"), Some("int32")) => "int32".into(),
        (Some("integer"), _) => "int64".into(),
        (Some("number"), _) => "number".into(),
        (Some("array"), _) => format!("[]{}", words(&schema["items"], definitions)),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", words(&schema["additionalProperties"], definitions))
        }
        // RawExtension, JSON, FieldsV1, and the schema that is either a schema or a boolean.
        _ => "any".into(),
    }
}

#[test]
fn the_table_is_what_k8s_openapi_says() {
    let mut generator = SchemaSettings::draft07().into_generator();
    let kinds = kinds(&mut generator);
    let definitions: serde_json::Map<String, Value> = generator.take_definitions(true);
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    for (name, schema) in &definitions {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let sorted: BTreeMap<&String, &Value> = properties.iter().collect();
        let mut fields = String::new();
        for (field, schema) in sorted {
            let mark = if required.contains(&field.as_str()) { "!" } else { "" };
            writeln!(fields, " {field}{mark} {}", words(schema, &definitions)).unwrap();
        }
        assert!(types.insert(short(name), fields).is_none(), "{name}: a second type of that name");
    }
    let mut table = HEAD.to_owned();
    for (version, kind, name) in kinds {
        writeln!(table, "= {version} {kind} {name}").unwrap();
    }
    types.iter().for_each(|(name, fields)| write!(table, "{name}\n{fields}").unwrap());
    let path = source("src/openshift/schema/core.txt");
    if std::env::var_os("TINDERBOX_WRITE_TABLE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == table,
        "TINDERBOX_WRITE_TABLE=1 writes the table anew"
    );
}
