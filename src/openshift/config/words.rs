//! The words of a fixed set that the user's files know, as enums. Each is read and printed by one table, so that a word
//! is written nowhere else.

/// An enum of words: one text per variant, read and printed alike.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// As written in the user's files.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            pub(super) fn read(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// What a node becomes.
    Role {
        /// Runs the first control plane, until the masters have theirs.
        Bootstrap = "bootstrap",
        /// A member of the control plane.
        Master = "master",
        Worker = "worker",
    }
}
words! {
    /// Instruction set of all nodes, in Go's names.
    Architecture {
        /// x86-64.
        Amd64 = "amd64",
        /// AArch64.
        Arm64 = "arm64",
        /// POWER, little endian.
        Ppc64le = "ppc64le",
        S390x = "s390x",
    }
}
words! {
    /// How libvirt runs the machines.
    DomainType {
        Kvm = "kvm",
        Qemu = "qemu",
    }
}
words! {
    /// When the additional trust bundle is trusted.
    TrustPolicy {
        /// Only for the proxy.
        ProxyOnly = "Proxyonly",
        Always = "Always",
    }
}
words! {
    /// Whether the source of mirrored images may be asked.
    SourcePolicy {
        Never = "NeverContactSource",
        Allow = "AllowContactingSource",
    }
}
words! {
    /// Features beyond the default ones.
    FeatureSet {
        Default = "Default",
        /// Features on their way in; no upgrades.
        TechPreview = "TechPreviewNoUpgrade",
        /// Features under development; no upgrades.
        DevPreview = "DevPreviewNoUpgrade",
        /// Gates of the user's choice; no upgrades.
        Custom = "CustomNoUpgrade",
    }
}
words! {
    CpuPartitioning {
        None = "None",
        AllNodes = "AllNodes",
    }
}
