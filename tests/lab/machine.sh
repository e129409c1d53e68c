#!/usr/bin/env bash
# A node as a systemd container: an OS tree, the node's Ignition config on top of it, and one interface on a bridge.
# docs/lab.md says what else a whole cluster needs. Needs root; ends with the container.
#
#   machine.sh ROOT CONFIG DIRECTORY NETWORK BRIDGE
#
#   ROOT        an OS tree with systemd, NetworkManager, kubelet, oc, and a container runtime as crio.service
#   CONFIG      result/ignition/NODE.ign
#   DIRECTORY   where the node keeps what it writes; its name is the node's
#   NETWORK     a network namespace (`ip netns add`), and BRIDGE a bridge in it
#
# IGNITION names the program, by default `ignition` of PATH.
set -euo pipefail
root=$1 config=$(realpath "$2") directory=$(realpath --canonicalize-missing "$3") network=$4 bridge=$5
name=${directory##*/}
ignition=${IGNITION:-ignition}

mkdir -p "$directory"/{upper,work,root,bin,containers,kubelet,etcd}
mount -t overlay -o "lowerdir=$root,upperdir=$directory/upper,workdir=$directory/work" "$name" "$directory/root"
node=$directory/root

# What Ignition asks of an OS. Labels are not what this is about.
mkdir -p "$node/etc/selinux/targeted/contexts/files"
: >"$node/etc/selinux/targeted/contexts/files/file_contexts"
printf 'SELINUX=disabled\nSELINUXTYPE=targeted\n' >"$node/etc/selinux/config"
printf '#!/bin/sh\n' >"$directory/bin/setfiles"
chmod +x "$directory/bin/setfiles"
rm -f "$node/etc/hostname"
for stage in fetch files; do
  IGNITION_CONFIG_FILE=$config PATH=$directory/bin:$PATH "$ignition" --platform=file --log-to-stdout --stage=$stage \
    --root="$node" --config-cache="$directory/cache" --state-file="$directory/state" --neednet="$directory/net" \
    >"$directory/ignition-$stage.log" 2>&1 || { tail "$directory/ignition-$stage.log" >&2 && exit 1; }
done

keyfile=$node/etc/NetworkManager/system-connections/tinderbox.nmconnection
mac=$(sed -n 's/^mac-address=//p' "$keyfile")
address=$(sed -n 's#^address1=\([^/]*\)/.*#\1#p' "$keyfile" | head -1)

# What a container cannot do as RHCOS does, on nodes that MCO rendered.
if [ -e "$node/etc/mcs-machine-config-content.json" ]; then
  units=$node/etc/systemd/system
  # No podman, no Open vSwitch, no ostree. By drop-in: the machine-config daemon compares the units themselves.
  for unit in NetworkManager-clean-initrd-state ipsec kubelet-cleanup machine-config-daemon-firstboot machine-config-daemon-pull \
    nmstate nmstate-configuration openvswitch ovs-configuration ovs-vswitchd ovsdb-server wait-for-ipsec-connect wait-for-primary-ip; do
    mkdir -p "$units/$unit.service.d"
    printf '[Unit]\nConditionPathExists=!/\n' >"$units/$unit.service.d/99-lab.conf"
    # Those of the OS that this one lacks: others require them.
    [ -e "$units/$unit.service" ] || [ -e "$node/usr/lib/systemd/system/$unit.service" ] ||
      printf '[Service]\nType=oneshot\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' \
        >"$node/usr/lib/systemd/system/$unit.service"
  done
  # Plays nodeip-configuration, which runs a program of an image with podman.
  mkdir -p "$units/nodeip-configuration.service.d"
  printf '[Service]\nExecStart=\nExecStart=/bin/true\n' >"$units/nodeip-configuration.service.d/99-lab.conf"
  printf '[Service]\nEnvironment="KUBELET_NODE_IP=%s" "KUBELET_NODE_IPS=%s"\n' "$address" "$address" \
    >"$units/kubelet.service.d/20-nodenet.conf"
  # The limit on connections is the kernel's, and no namespace's.
  proxy=$node/etc/kubernetes/manifests/kube-proxy.yaml
  [ ! -e "$proxy" ] || sed -i 's/^\( *\)- --proxy-mode=.*/&\n\1- --conntrack-max-per-core=0/' "$proxy"
  mkdir -p "$node/usr/lib/modules"
fi
# As on a first boot; Debian's own presets would enable everything.
while read -r word unit; do
  [ "$word" != enable ] || systemctl --root="$node" enable "$unit" >>"$directory/presets.log" 2>&1 || true
done <"$node/etc/systemd/system-preset/20-ignition.preset"

ip link add "e-$name" address "$mac" type veth peer name "v-$name"
ip link set "v-$name" netns "$network"
nsenter --net="/run/netns/$network" ip link set "v-$name" master "$bridge" up

# Not on the overlay: container runtimes use overlays themselves. What Ignition wrote there comes along.
binds=()
for pair in containerd:containers kubelet:kubelet etcd:etcd; do
  place=$node/var/lib/${pair%:*} own=$directory/${pair#*:}
  [ ! -d "$place" ] || cp -a --no-target-directory "$place" "$own"
  binds+=("--bind=$own:/var/lib/${pair%:*}")
done

# Cgroups of its own in every hierarchy of cgroup v1: kubelets remove pods that they do not know. /sys is read-only for the start:
# otherwise systemd-nspawn waits for a udev to announce the interface.
# shellcheck disable=SC2016 # the inner shell expands these
exec unshare --mount --propagation=slave bash -euc '
  name=$1; shift
  for hierarchy in /sys/fs/cgroup/*/; do
    [ -e "$hierarchy/cgroup.procs" ] || continue
    own=${hierarchy}lab-$name
    mkdir -p "$own"
    if [ -e "$own/cpuset.mems" ] && [ ! -e "$own/cgroup.controllers" ]; then
      cat "${hierarchy}cpuset.cpus" >"$own/cpuset.cpus"
      cat "${hierarchy}cpuset.mems" >"$own/cpuset.mems"
      echo 1 >"$own/cgroup.clone_children"
    fi
    echo $$ >"$own/cgroup.procs"
  done
  mount -o remount,ro,bind /sys
  SYSTEMD_NSPAWN_API_VFS_WRITABLE=1 SYSTEMD_SECCOMP=0 exec systemd-nspawn "$@"
' machine "$name" --quiet --directory="$node" --machine="$name" --register=no --keep-unit --network-interface="e-$name" \
  --capability=all --resolv-conf=off --kill-signal=SIGRTMIN+3 "${binds[@]}" --boot
