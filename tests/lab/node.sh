# The bootstrap node, in namespaces of its own: this machine's root with what Ignition wrote on top, and our static pods as
# processes. Run by node.rs as the first process of a PID namespace: everything ends with it.
#
#   node.sh DIRECTORY ADDRESS HOSTNAME
#
#   DIRECTORY/upper    what Ignition wrote, and below /lab: programs, pods (a script each), logs
#   DIRECTORY/work, DIRECTORY/root    for overlayfs
set -eu
directory=$1 address=$2 hostname=$3
root=$directory/root

mount -t overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" lab "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs lab "$root/run"
mount -t tmpfs lab "$root/tmp"
while read -r name path; do
  : >"$root/lab/programs/$name"
  mount --bind "$path" "$root/lab/programs/$name"
done <"$directory/programs"
while read -r from to; do
  mkdir -p "$root$to"
  mount --bind "$from" "$root$to"
done <"$directory/mounts"
hostname "$hostname"
ip link set lo up
ip address add "$address" dev lo

# A container that ends is started again, after a pause that a kubelet would make longer each time.
keep() {
  while true; do
    status=0
    chroot "$root" unshare --mount env -i PATH=/lab/programs:/usr/sbin:/usr/bin:/sbin:/bin sh "/lab/pods/$1" \
      >>"$root/lab/log/$1" 2>&1 || status=$?
    echo "$1 ended with status $status" >>"$root/lab/log/ends"
    sleep 2
  done
}
for script in "$root"/lab/pods/*; do
  keep "${script##*/}" &
done
touch "$root/lab/up"
wait
