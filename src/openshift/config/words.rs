//! Fixed sets of words that Rust code uses, as enums. Each is parsed and printed by one table, so that a word is
//! written nowhere else. Words that only recipes see need no enum: they are texts of a [`Kind::Choice`].

use super::given::Scalar;
use super::spec::Kind;

/// An enum of words: one text per variant, for parsing and printing.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// One of these words, for a row.
            pub(super) const KIND: Kind = Kind::Choice {
                values: &[$($text),*],
                refused: &[],
                read: |text| match text {
                    $($text => Some(Scalar::$name(Self::$variant)),)*
                    _ => None,
                },
            };

            /// As written in the user's files.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

words! {
    /// The role of a node.
    Role {
        /// Runs the first control plane, until the masters take over.
        Bootstrap = "bootstrap",
        /// A member of the control plane.
        Master = "master",
        Worker = "worker",
    }
}
words! {
    /// Who makes the machines.
    Machines {
        /// `realize`, on libvirt.
        Libvirt = "libvirt",
        /// The user, who has them or makes them elsewhere.
        External = "external",
    }
}
words! {
    /// Instruction set of all nodes, in Go's names.
    Architecture {
        Amd64 = "amd64",
        Arm64 = "arm64",
        /// POWER, little endian.
        Ppc64le = "ppc64le",
        S390x = "s390x",
    }
}
words! {
    /// Whether the source of mirrored images may be contacted.
    SourcePolicy {
        Never = "NeverContactSource",
        Allow = "AllowContactingSource",
    }
}
