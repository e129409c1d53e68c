# A master on which kube-proxy has written its rules, and OVN comes: the steps of the kube-proxy test, in a network
# namespace, with Debian's iptables.
#
#   kube-proxy.sh DIR SCRIPT RULES   runs SCRIPT there; prints what it says, and the rules before and after
set -euo pipefail
cd "$1"
script=$2
rules=$3
export PATH=$PWD/bin:$PATH:/usr/sbin:/sbin
export CNI=$PWD/ovn.conf MANIFEST=$PWD/kube-proxy.yaml KUBECONFIG_FILE=$PWD/kube-proxy.kubeconfig POLL=0.1

# The kubelet's part: it stops the pod a while after the manifest is gone.
mkdir bin
cat >bin/crictl <<'CRICTL'
#!/bin/sh
[ "$*" = 'pods --quiet --state ready --namespace ^kube-system$ --name ^kube-proxy-' ] || exit 2
[ -e "$MANIFEST" ] && echo 4a5b && exit
[ -e stopping ] || { touch stopping; echo 4a5b; }
CRICTL
chmod 755 bin/crictl
touch "$MANIFEST" "$KUBECONFIG_FILE"

# load PROGRAM SERVICE MASTER TARGET PODS
load() {
  sed -e "s|SERVICE |$2 |; s|MASTER|$3|; s|TARGET|$4|; s|PODS|$5|" "$rules" | "$1-restore"
}
# All that a family has, without counters.
all() {
  for table in mangle filter nat; do
    "$1-save" -t "$table" | grep -v -e '^#' -e '^COMMIT' | sed '/^:/s/ \[.*//'
  done
}
# said TEXT: waits until the script has said it.
said() {
  timeout 60 sh -c 'until grep -qF "$1" log; do sleep 0.05; done' sh "$1" || { cat log; exit 1; }
}

ip link set lo up
load iptables 172.30.0.1/32 192.168.126.101/32 192.168.126.101:6443 10.128.0.0/14
load ip6tables fd02::1/128 fd00::101/128 '[fd00::101]:6443' fd01::/48
all iptables >before4
all ip6tables >before6
timeout 120 bash "$script" >log 2>&1 &
pid=$!
said 'there is no route to 172.30.0.0/16'
ip route add 172.30.0.0/16 dev lo
said 'there is no route to fd02::/112'
ip -6 route add fd02::/112 dev lo
said "there is no $CNI"
[ -e "$MANIFEST" ]
[ "$(all iptables)" = "$(cat before4)" ]
echo '{}' >"$CNI"
wait "$pid" || { cat log; exit 1; }
sed "s|$PWD/||" log
[ ! -e "$MANIFEST" ] && [ ! -e "$KUBECONFIG_FILE" ]
echo '--- iptables'
all iptables
echo '--- ip6tables'
all ip6tables | diff - <(all iptables | sed 's|192.168.126.101:6443|[fd00::101]:6443|') && echo the same
echo '--- again'
timeout 60 bash "$script"
