//! Tells cargo about the folders that are embedded: `include_dir!` itself does not notice a new file.

fn main() {
    for folder in ["recipes", "src/openshift/demo/files"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
