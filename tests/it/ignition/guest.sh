#!/bin/bash
# A machine that boots Debian's systemd into the bootstrap node's own units: laid out like a system of ostree, with ostree
# itself played by a script, and without the kubelet, CRI-O and oc, which only the node image has.
#
#   guest.sh OUT TREE    OUT/vmlinuz, OUT/initrd, OUT/disk; TREE is what Ignition writes
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
out=$1 tree=$2
cd "$out"
kernel=$(find /boot -name 'vmlinuz-*-cloud-amd64' | sort -V | tail -n 1)
version=${kernel#/boot/vmlinuz-}

# A program or library with all that it needs, at its own place, which is below /usr.
bring() {
  local file to
  for file in "$@" $(ldd "$@" 2>/dev/null | grep -o '/[^ :)]*' | sort -u); do
    to=root$file
    case $file in /lib* | /bin/* | /sbin/*) to=root/usr$file ;; esac
    mkdir -p "${to%/*}"
    cp -Lu "$file" "$to"
  done
}

mkdir -p root/{usr/{bin,sbin,lib,lib64},proc,sys,dev,run,tmp,etc,root,sysroot/ostree/repo/tmp,var/{lib,usrlocal},opt}
for link in bin sbin lib lib64; do
  ln -s "usr/$link" "root/$link"
done
ln -s sysroot/ostree root/ostree
ln -s ../run root/var/run
ln -s ../var/usrlocal root/usr/local
bring /usr/lib/systemd/{systemd,systemd-shutdown,systemd-user-sessions,systemd-cgroups-agent}
for program in bash sh env cat cp mv rm ln mkdir mktemp touch grep wc sleep true mount umount mountpoint rsync sort ls find \
  systemctl systemd-notify; do
  bring "$(type -P "$program")"
done
mkdir -p root/usr/lib/systemd/{system,system-generators}
cp -L /usr/lib/systemd/system/*.target /usr/lib/systemd/system/systemd-user-sessions.service root/usr/lib/systemd/system/
mkdir -p "root/usr/lib/modules/$version"
echo "boot image" >"root/usr/lib/modules/$version/of"
echo root:x:0:0::/root:/bin/sh >root/etc/passwd
echo root:x:0: >root/etc/group
echo 0123456789abcdef0123456789abcdef >root/etc/machine-id
: >root/etc/fstab

unit() {
  mkdir -p "${1%/*}"
  printf '[Unit]\nDescription=Stands in for %s\n[Service]\nType=%s\nExecStart=%s\n' "${1##*/}" "$2" "$3" >"$1"
}
script() {
  mkdir -p "${1%/*}"
  { printf '#!/bin/bash\n' && cat; } >"$1"
  chmod 755 "$1"
}
unit root/usr/lib/systemd/system/NetworkManager.service oneshot /usr/bin/true
unit root/usr/lib/systemd/system/sshd.service simple '/usr/bin/sleep infinity'
script root/usr/bin/chcon <<<'exit 0'

# The node image: everything that the boot image has, and these. Its kernel is not the one that runs.
node=root/var/image
unit "$node/usr/lib/systemd/system/crio.service" simple /usr/bin/crio
script "$node/usr/bin/crio" <<<'exec sleep infinity'
script "$node/usr/bin/oc" <<<'exit 0'
script "$node/usr/bin/kubelet" <<'END'
echo "kubelet: started with $*"
echo "kubelet: CRI-O is $(systemctl is-active crio.service)"
echo "kubelet: the modules are of the $(cat /usr/lib/modules/*/of)"
grep -q KubeletConfiguration /etc/kubernetes/kubelet.conf && echo "kubelet: kubelet.conf is ours"
echo "kubelet: CRI-O is configured by" /etc/crio/crio.conf.d/*
touch /usr/written 2>/dev/null || echo "kubelet: /usr is read-only"
systemd-notify --ready
systemctl --no-block start the-end.service
exec sleep infinity
END
mkdir -p "$node/usr/etc/crio/crio.conf.d" "$node/usr/etc/kubernetes"
echo configuration >"$node/usr/etc/crio/crio.conf.d/00-default"
echo "of the image" >"$node/usr/etc/kubernetes/kubelet.conf"

# ostree, as far as our scripts ask. The first pull ends in a reboot.
script root/usr/bin/ostree <<'END'
for last; do :; done
case $* in
"container image pull "*)
  if [[ ! -e /sysroot/ostree/rebooted ]]; then
    touch /sysroot/ostree/rebooted
    mkdir -p /sysroot/ostree/repo/tmp/node-image.new/half
    echo "ostree: the machine loses its power"
    exec systemctl reboot --force --force
  fi
  echo "${last##*:}" >/sysroot/ostree/repo/pulled
  ;;
refs\ *) echo "ostree/container/image/docker_3A__2F__2F_node_40_sha256_3A_$(cat /sysroot/ostree/repo/pulled)" ;;
rev-parse\ *) echo c0ffee ;;
"admin config-diff") printf 'A    %s\n' kubernetes/kubelet.conf crio/crio.conf.d/00-pause-image kubernetes ;;
checkout\ *)
  mkdir -p "$last"
  # Hard links, through the same mount.
  cp -al /sysroot/usr "$last/usr"
  rm "$last/usr/bin/ostree"
  cp -a /sysroot/var/image/usr "$last"
  find "$last/usr" -type d -exec touch -d @0 {} +
  for option; do
    case $option in --skip-list=*) while read -r path; do rm -f "$last$path"; done <"${option#*=}" ;; esac
  done
  ;;
*) echo "ostree: nobody plays $*" && exit 1 ;;
esac
END

# What Ignition writes, and enables.
cp -r "$tree/etc" "$tree/var" root/
cp -r "$tree/usr/local/." root/var/usrlocal/
chmod -R u+w root/etc root/var
chmod 755 root/etc/systemd/system-generators/* root/var/usrlocal/bin/*
mkdir -p root/etc/systemd/system/multi-user.target.wants
for enabled in /etc/systemd/system/kubelet.service /usr/lib/systemd/system/sshd.service; do
  ln -s "$enabled" root/etc/systemd/system/multi-user.target.wants/
done
unit root/etc/systemd/system/the-end.service oneshot '/usr/bin/systemctl poweroff --force --force'
# Directories of ostree have no times, so systemd cannot see by them that it has other units now.
find root/usr -type d -exec touch -d @0 {} +
mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -L root -d root disk 600M

# The initramfs finds the disk and mounts it as ostree does: its own root once more below /sysroot, read-only.
mkdir -p initrd/{bin,modules,new,proc,dev}
cp "$(command -v busybox)" initrd/bin/busybox
number=10
for module in virtio_blk virtio_pci; do
  modprobe -S "$version" --show-depends $module
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
  cp "$module" "initrd/modules/$number-${module##*/}"
  number=$((number + 1))
done
cat >initrd/init <<'END'
#!/bin/busybox sh
b=/bin/busybox
for module in /modules/*; do $b insmod "$module"; done
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
until [ -b /dev/vda ]; do $b sleep 0.1; done
$b mount -t ext4 /dev/vda /new
$b mount --bind /new /new/sysroot
$b mount -o remount,bind,ro /new/sysroot
$b umount /proc
$b umount /dev
exec $b switch_root /new /usr/lib/systemd/systemd
END
chmod 755 initrd/init
(cd initrd && find . | LC_ALL=C sort | cpio -o -H newc --quiet) | gzip -1 >initrd.gz
cp "$kernel" vmlinuz
