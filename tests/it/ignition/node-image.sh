# A system as ostree lays it out, a node image, and a boot of it: the steps of the node-image test, with Debian's ostree.
# Each boot runs in a mount namespace of its own, which is what a reboot is to mounts.
#
#   node-image.sh make DIR IMAGE    the system, as Ignition has left it
#   node-image.sh boot DIR SCRIPTS  pull and overlay, then what the node sees
set -euo pipefail
verb=$1
cd "$2"

put() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >"$1"
}

make() {
  image=$1
  mkdir -p boot/{ostree,sysroot,proc,dev,var,run,tmp,boot} opt programs
  put boot/usr/lib/modules/1.0/vmlinuz kernel
  put boot/usr/lib/os-release 'PRETTY_NAME=boot'
  put boot/usr/etc/os-release 'PRETTY_NAME=boot'
  put boot/usr/etc/both/untouched 'boot image'
  put boot/usr/etc/both/edited 'boot image'
  put node/usr/lib/modules/2.0/vmlinuz kernel
  put node/usr/bin/kubelet 'node image'
  put node/usr/etc/both/untouched 'node image'
  put node/usr/etc/both/edited 'node image'
  put node/usr/etc/crio/crio.conf.d/00-default 'node image'
  put node/usr/etc/kubernetes/kubelet.conf 'node image'
  mkdir -p root/sysroot
  ostree admin init-fs root
  ostree admin os-init --sysroot=root coreos
  ostree commit --repo=root/ostree/repo --branch=boot --tree=dir=boot
  ostree admin deploy --sysroot=root --os=coreos boot
  ln -s "$PWD"/root/ostree/deploy/coreos/deploy/*.0 deployment
  # What Ignition has written.
  put deployment/etc/kubernetes/kubelet.conf ours
  put deployment/etc/crio/crio.conf.d/00-pause-image ours
  put deployment/etc/both/edited ours
  ln -s ../../usr/lib/opt/cni opt/cni
  # What Debian's ostree cannot do, and where this system is.
  cat >programs/ostree <<END
#!/bin/sh
real=$(command -v ostree)
case "\$1 \$2" in
"container image")
  if [ -e "$PWD/registry-is-down" ]; then
    rm "$PWD/registry-is-down"
    echo "the registry does not answer" >&2
    exit 1
  fi
  while [ \$# -gt 2 ]; do shift; done
  echo "\$2" >>"$PWD/pulled"
  exec "\$real" commit --repo="\$1" --tree=dir="$PWD/node" --branch="ostree/container/image/docker_3A__2F__2F_node_40_sha256_3A_${image##*:}"
  ;;
"admin config-diff") exec "\$real" admin config-diff --sysroot="$PWD/root" --os=coreos ;;
esac
exec "\$real" "\$@"
END
  printf '#!/bin/sh\necho "$@" >>"%s/asked"\n' "$PWD" >programs/systemctl
  chmod +x programs/*
}

boot() {
  scripts=$1
  mount --bind root/sysroot root/sysroot
  mount -o remount,bind,ro root/sysroot
  rm -f overlaid
  export PATH=$PWD/programs:$PATH
  export SYSROOT=$PWD/root REPO=$PWD/root/ostree/repo ETC=$PWD/deployment/etc USR=$PWD/deployment/usr OPT=$PWD/opt
  export STATE=$PWD/state SELINUX=$PWD/none OVERLAID=$PWD/overlaid LIVE_MARK=$PWD/live LIVE=$PWD/memory AUTH=$PWD/none PAUSE=0.1
  "$scripts/node-image-pull.sh" >>log 2>&1
  "$scripts/node-image-overlay.sh" >>log 2>&1
  # Once more, as a unit that is restarted would.
  "$scripts/node-image-overlay.sh" >>log 2>&1
  cd deployment/
  grep -r . etc/both etc/crio etc/kubernetes usr/bin | sort
  ls usr/lib/modules ../../../../../../opt
}

shift 2
"$verb" "$@"
