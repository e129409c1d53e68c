#!/bin/busybox sh
# shellcheck shell=dash
# The first process of a machine of the tests: what a CoreOS does around Ignition on its first boot, as far as it matters.
# The real Ignition runs, stage by stage, and what it wrote is then believed: the node takes the address that its disk has.
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /sysroot /usr/lib/ignition
/bin/busybox --install -s /bin
export PATH=/sbin:/bin

say() { echo "node: $*"; }

# Nothing more can be done: the console says so, and the machine stays as it is.
stop() {
  say "stopped: $*"
  while true; do sleep 3600; done
}

argument() {
  # shellcheck disable=SC2013 # they are words
  for one in $(cat /proc/cmdline); do
    case $one in "$1="*) echo "${one#*=}" ;; esac
  done
}

# Ignition, all stages; as in its own dracut module the first one that fails ends it.
ignite() {
  for stage in fetch-offline kargs disks mount files umount; do
    ignition --root=/sysroot --platform="$platform" --stage="$stage" --log-to-stdout || stop "ignition $stage"
  done
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /lib/modules/*; do
  insmod "$module" || stop "$module"
done
platform=$(argument ignition.platform.id)

if [ -n "$(argument coreos.liveiso)" ] || [ -e /etc/coreos-live-rootfs ]; then
  # The live system: its config came with an initrd of its own; its root is in memory.
  mount -t tmpfs root /sysroot
  cp -a /skeleton/. /sysroot
  [ ! -e /config.ign ] || cp /config.ign /usr/lib/ignition/user.ign
  ignite
  # This stands in for systemd: what the installer requires runs first, in the live system's own root.
  if grep -q 'enable choose-node.service' /sysroot/etc/systemd/system-preset/20-ignition.preset; then
    unit=/sysroot/etc/systemd/system/choose-node.service
    grep -q '^RequiredBy=coreos-installer.service$' $unit || stop "the installer does not need $unit"
    label=$(argument coreos.liveiso)
    mkdir -p /dev/disk/by-label
    ln -s /dev/sr0 "/dev/disk/by-label/$label"
    for dir in bin sbin lib lib64 usr; do
      [ ! -e /$dir ] || cp -a /$dir /sysroot
    done
    for dir in dev proc sys; do
      mkdir -p /sysroot/$dir
      mount -o bind /$dir /sysroot/$dir
    done
    mkdir -p /sysroot/run /sysroot/tmp
    # As systemd-ask-password-console.service: it asks on the console for programs that have no terminal.
    [ ! -e /bin/systemd-tty-ask-password-agent ] || chroot /sysroot systemd-tty-ask-password-agent --watch --console &
    chroot /sysroot "$(sed -n 's/^ExecStart=//p' $unit)" </dev/null || stop "its node is not decided"
    find /sysroot/run /sysroot/tmp -type f | grep . && stop "the script left something behind"
  fi
  # This stands in for coreos-installer, which does the same: the image to the disk, the config to its boot partition.
  disk=$(argument coreos.inst.install_dev)
  [ -n "$disk" ] || disk=$(sed -n 's/^dest-device: //p' /sysroot/etc/coreos/installer.d/*.yaml)
  config=$(sed -n 's/^ignition-file: //p' /sysroot/etc/coreos/installer.d/*.yaml)
  say "installing to $disk with $config"
  zcat /disk.gz >"$disk" || stop "the disk"
  sync
  blockdev --rereadpt "$disk"
  mount -t ext4 "${disk}1" /tmp || stop "the new disk"
  mkdir -p /tmp/ignition
  cp "/sysroot$config" /tmp/ignition/config.ign || stop "the config"
  umount /tmp
  sync
  say "installed"
  reboot -f
fi

mount -t ext4 /dev/vda1 /sysroot || stop "the disk"
if [ ! -e /sysroot/etc/.ignition-result.json ]; then
  [ ! -e /sysroot/ignition/config.ign ] || cp /sysroot/ignition/config.ign /usr/lib/ignition/user.ign
  ignite
  sync
fi

# What was applied, read from the disk.
keyfile=/sysroot/etc/NetworkManager/system-connections/tinderbox.nmconnection
[ "$(stat -c '%a %u' $keyfile)" = "600 0" ] || stop "NetworkManager would ignore $keyfile"
mac=$(sed -n 's/^mac-address=//p' $keyfile)
both=$(sed -n 's/^address1=//p' $keyfile | head -n 1)
for link in /sys/class/net/*; do
  [ "$(cat "$link/address")" != "$mac" ] || interface=${link##*/}
done
[ -n "$interface" ] || stop "there is no interface $mac"
ip link set "$interface" up
ip address add "${both%,*}" dev "$interface"
ip route add default via "${both#*,}"
hostname -F /sysroot/etc/hostname
say "$(hostname) has ${both%,*} on $mac"
# Whoever is spoken to knows the speaker's address.
while true; do
  ping -c 1 -W 5 "${both#*,}" >/dev/null
  sleep 5
done
