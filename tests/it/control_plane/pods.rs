//! What every static pod says, as the kubelet reads it: without comments. Other kinds of clusters differ where their
//! networks do, and nowhere else.

use super::{PODS, dual_stack, ipv6, pod};
use crate::harness::Workspace;

/// A pod's file without comments and digests.
fn bare(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    let digest = |line: &str| match line.split_once("sha256:") {
        Some((begin, digest)) if digest.len() == 64 => format!("{begin}sha256:[DIGEST]\n"),
        _ => format!("{line}\n"),
    };
    lines.map(digest).collect()
}

/// The lines of all pods that the example does not have.
fn differences(ws: &Workspace) -> String {
    let example = Workspace::example();
    let mut found = String::new();
    for name in PODS {
        let usual = bare(&pod(&example, name));
        let usual: Vec<&str> = usual.lines().collect();
        let text = bare(&pod(ws, name));
        let others = text.lines().filter(|line| !usual.contains(line));
        others.for_each(|line| found.push_str(&format!("{name}: {}\n", line.trim())));
    }
    found
}

#[test]
fn cluster_version_operator() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "cluster-version-operator")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: cluster-version-operator
      namespace: openshift-cluster-version
      labels:
        k8s-app: cluster-version-operator
    spec:
      hostNetwork: true
      dnsPolicy: Default
      priorityClassName: system-node-critical
      terminationGracePeriodSeconds: 130
      containers:
      - name: cluster-version-operator
        image: demo.invalid/openshift/release@sha256:[DIGEST]
        command:
        - cluster-version-operator
        - start
        args:
        - --release-image=demo.invalid/openshift/release@sha256:[DIGEST]
        - --kubeconfig=/etc/kubernetes/kubeconfigs/localhost.kubeconfig
        - --listen=
        - --enable-auto-update=false
        - --v=2
        env:
        - name: CLUSTER_PROFILE
          value: self-managed-high-availability
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        resources:
          requests:
            cpu: 20m
            memory: 50Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: kubeconfigs
          mountPath: /etc/kubernetes/kubeconfigs
          readOnly: true
      volumes:
      - name: kubeconfigs
        hostPath:
          path: /etc/kubernetes/kubeconfigs
          type: Directory
    ");
}

#[test]
fn etcd() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "etcd")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: etcd
      namespace: kube-system
      labels:
        tier: control-plane
        component: etcd
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      containers:
      - name: etcd
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - etcd
        args:
        - --name=etcd-bootstrap
        - --data-dir=/var/lib/etcd
        - --listen-client-urls=https://127.0.0.1:2379,https://192.168.126.100:2379
        - --advertise-client-urls=https://192.168.126.100:2379
        - --listen-peer-urls=https://192.168.126.100:2380
        - --initial-advertise-peer-urls=https://192.168.126.100:2380
        - --initial-cluster=etcd-bootstrap=https://192.168.126.100:2380
        - --initial-cluster-state=new
        - --cert-file=/etc/kubernetes/secrets/etcd-server.crt
        - --key-file=/etc/kubernetes/secrets/etcd-server.key
        - --client-cert-auth=true
        - --trusted-ca-file=/etc/kubernetes/secrets/etcd-ca.crt
        - --peer-cert-file=/etc/kubernetes/secrets/etcd-peer.crt
        - --peer-key-file=/etc/kubernetes/secrets/etcd-peer.key
        - --peer-client-cert-auth=true
        - --peer-trusted-ca-file=/etc/kubernetes/secrets/etcd-ca.crt
        - --listen-metrics-urls=http://127.0.0.1:2381
        - --quota-backend-bytes=8589934592
        ports:
        - name: client
          containerPort: 2379
        - name: peer
          containerPort: 2380
        startupProbe:
          httpGet:
            host: 127.0.0.1
            port: 2381
            path: /health?serializable=true
          periodSeconds: 5
          timeoutSeconds: 10
          failureThreshold: 24
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 2381
            path: /health?exclude=NOSPACE&serializable=true
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 6
        resources:
          requests:
            cpu: 300m
            memory: 600Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: secrets
          mountPath: /etc/kubernetes/secrets
          readOnly: true
        - name: data
          mountPath: /var/lib/etcd
      volumes:
      - name: secrets
        hostPath:
          path: /etc/kubernetes/bootstrap-secrets
          type: Directory
      - name: data
        hostPath:
          path: /var/lib/etcd
          type: DirectoryOrCreate
    ");
}

#[test]
fn kube_apiserver() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "kube-apiserver")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: kube-apiserver
      namespace: kube-system
      labels:
        tier: control-plane
        component: kube-apiserver
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      terminationGracePeriodSeconds: 135
      containers:
      - name: kube-apiserver
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - hyperkube
        - kube-apiserver
        args:
        - --advertise-address=192.168.126.100
        - '--bind-address=0.0.0.0'
        - --secure-port=6443
        - --etcd-servers=https://localhost:2379
        - --etcd-cafile=/etc/kubernetes/secrets/etcd-ca.crt
        - --etcd-certfile=/etc/kubernetes/secrets/etcd-client.crt
        - --etcd-keyfile=/etc/kubernetes/secrets/etcd-client.key
        - --etcd-prefix=kubernetes.io
        - --tls-cert-file=/etc/kubernetes/secrets/kube-apiserver.crt
        - --tls-private-key-file=/etc/kubernetes/secrets/kube-apiserver.key
        - --client-ca-file=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --kubelet-client-certificate=/etc/kubernetes/secrets/kube-apiserver-kubelet-client.crt
        - --kubelet-client-key=/etc/kubernetes/secrets/kube-apiserver-kubelet-client.key
        - --kubelet-certificate-authority=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --kubelet-preferred-address-types=InternalIP
        - --service-account-key-file=/etc/kubernetes/secrets/bound-service-account-signing-key.pub
        - --service-account-key-file=/etc/kubernetes/secrets/service-account.pub
        - --service-account-signing-key-file=/etc/kubernetes/secrets/bound-service-account-signing-key.key
        - --service-account-issuer=https://kubernetes.default.svc
        - --api-audiences=https://kubernetes.default.svc
        - --service-cluster-ip-range=172.30.0.0/16
        - --authorization-mode=Node,RBAC
        - --enable-admission-plugins=NodeRestriction
        - --allow-privileged=true
        - --requestheader-client-ca-file=/etc/kubernetes/secrets/front-proxy-ca.crt
        - --requestheader-allowed-names=kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator
        - --requestheader-username-headers=X-Remote-User
        - --requestheader-group-headers=X-Remote-Group
        - --requestheader-extra-headers-prefix=X-Remote-Extra-
        - --proxy-client-cert-file=/etc/kubernetes/secrets/front-proxy-client.crt
        - --proxy-client-key-file=/etc/kubernetes/secrets/front-proxy-client.key
        - --enable-aggregator-routing=true
        - --v=2
        ports:
        - name: https
          containerPort: 6443
        startupProbe:
          httpGet:
            host: 127.0.0.1
            port: 6443
            path: /livez
            scheme: HTTPS
          periodSeconds: 5
          timeoutSeconds: 10
          failureThreshold: 60
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 6443
            path: /livez?exclude=etcd
            scheme: HTTPS
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 3
        resources:
          requests:
            cpu: 265m
            memory: 1Gi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: secrets
          mountPath: /etc/kubernetes/secrets
          readOnly: true
      volumes:
      - name: secrets
        hostPath:
          path: /etc/kubernetes/bootstrap-secrets
          type: Directory
    ");
}

#[test]
fn kube_controller_manager() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "kube-controller-manager")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: kube-controller-manager
      namespace: kube-system
      labels:
        tier: control-plane
        component: kube-controller-manager
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      containers:
      - name: kube-controller-manager
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - hyperkube
        - kube-controller-manager
        args:
        - --kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --authentication-kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --authorization-kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --bind-address=127.0.0.1
        - --leader-elect=true
        - --controllers=*,bootstrapsigner,tokencleaner
        - --cluster-cidr=10.128.0.0/14
        - --service-cluster-ip-range=172.30.0.0/16
        - --allocate-node-cidrs=true
        - --node-cidr-mask-size-ipv4=23
        - --cluster-signing-cert-file=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --cluster-signing-key-file=/etc/kubernetes/secrets/kubernetes-ca.key
        - --service-account-private-key-file=/etc/kubernetes/secrets/service-account.key
        - --root-ca-file=/etc/kubernetes/secrets/kubernetes-ca-bundle.crt
        - --use-service-account-credentials=true
        - --v=2
        ports:
        - name: https
          containerPort: 10257
        startupProbe:
          httpGet:
            host: 127.0.0.1
            port: 10257
            path: /healthz
            scheme: HTTPS
          periodSeconds: 5
          timeoutSeconds: 10
          failureThreshold: 60
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 10257
            path: /healthz
            scheme: HTTPS
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 3
        resources:
          requests:
            cpu: 60m
            memory: 200Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: secrets
          mountPath: /etc/kubernetes/secrets
          readOnly: true
        - name: kubeconfigs
          mountPath: /etc/kubernetes/kubeconfigs
          readOnly: true
      volumes:
      - name: secrets
        hostPath:
          path: /etc/kubernetes/bootstrap-secrets
          type: Directory
      - name: kubeconfigs
        hostPath:
          path: /etc/kubernetes/kubeconfigs
          type: Directory
    ");
}

#[test]
fn kube_proxy() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "kube-proxy")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: kube-proxy
      namespace: kube-system
      labels:
        tier: node
        component: kube-proxy
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      containers:
      - name: kube-proxy
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - kube-proxy
        args:
        - --kubeconfig=/etc/kubernetes/kubeconfig
        - --proxy-mode=iptables
        - --detect-local-mode=ClusterCIDR
        - --cluster-cidr=10.128.0.0/14
        - --healthz-bind-address=127.0.0.1:10247
        - --v=2
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 10247
            path: /livez
          initialDelaySeconds: 10
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 30
        resources:
          requests:
            cpu: 20m
            memory: 50Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: kubeconfig
          mountPath: /etc/kubernetes/kubeconfig
          readOnly: true
        - name: modules
          mountPath: /lib/modules
          readOnly: true
        - name: xtables-lock
          mountPath: /run/xtables.lock
      volumes:
      - name: kubeconfig
        hostPath:
          path: /etc/kubernetes/kubeconfig
          type: File
      - name: modules
        hostPath:
          path: /lib/modules
          type: Directory
      - name: xtables-lock
        hostPath:
          path: /run/xtables.lock
          type: FileOrCreate
    ");
}

#[test]
fn kube_scheduler() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example(), "kube-scheduler")), @r"
    apiVersion: v1
    kind: Pod
    metadata:
      name: kube-scheduler
      namespace: kube-system
      labels:
        tier: control-plane
        component: kube-scheduler
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      containers:
      - name: kube-scheduler
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - hyperkube
        - kube-scheduler
        args:
        - --kubeconfig=/etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig
        - --authentication-kubeconfig=/etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig
        - --authorization-kubeconfig=/etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig
        - --bind-address=127.0.0.1
        - --leader-elect=true
        - --v=2
        ports:
        - name: https
          containerPort: 10259
        startupProbe:
          httpGet:
            host: 127.0.0.1
            port: 10259
            path: /healthz
            scheme: HTTPS
          periodSeconds: 5
          timeoutSeconds: 10
          failureThreshold: 60
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 10259
            path: /healthz
            scheme: HTTPS
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 3
        resources:
          requests:
            cpu: 15m
            memory: 50Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: kubeconfigs
          mountPath: /etc/kubernetes/kubeconfigs
          readOnly: true
      volumes:
      - name: kubeconfigs
        hostPath:
          path: /etc/kubernetes/kubeconfigs
          type: Directory
    ");
}

#[test]
fn dual_stack_has_both_families_where_there_are_lists() {
    insta::assert_snapshot!(differences(&dual_stack()), @r"
    etcd: - --listen-client-urls=https://127.0.0.1:2379,https://[::1]:2379,https://192.168.126.100:2379
    kube-apiserver: - --service-cluster-ip-range=172.30.0.0/16,fd02::/112
    kube-controller-manager: - --cluster-cidr=10.128.0.0/14,fd01::/48
    kube-controller-manager: - --service-cluster-ip-range=172.30.0.0/16,fd02::/112
    kube-controller-manager: - --node-cidr-mask-size-ipv6=64
    kube-proxy: - --cluster-cidr=10.128.0.0/14,fd01::/48
    ");
}

#[test]
fn ipv6_has_brackets_in_urls() {
    insta::assert_snapshot!(differences(&ipv6()), @r"
    etcd: - --listen-client-urls=https://127.0.0.1:2379,https://[::1]:2379,https://[fd00:126::100]:2379
    etcd: - --advertise-client-urls=https://[fd00:126::100]:2379
    etcd: - --listen-peer-urls=https://[fd00:126::100]:2380
    etcd: - --initial-advertise-peer-urls=https://[fd00:126::100]:2380
    etcd: - --initial-cluster=etcd-bootstrap=https://[fd00:126::100]:2380
    kube-apiserver: - --advertise-address=fd00:126::100
    kube-apiserver: - '--bind-address=::'
    kube-apiserver: - --service-cluster-ip-range=fd02::/112
    kube-controller-manager: - --cluster-cidr=fd01::/48
    kube-controller-manager: - --service-cluster-ip-range=fd02::/112
    kube-controller-manager: - --node-cidr-mask-size-ipv6=64
    kube-proxy: - --cluster-cidr=fd01::/48
    ");
}

/// The bootstrap control plane is the same whatever it brings up.
#[test]
fn compact_and_single_node_have_the_same_pods() {
    let compact = Workspace::example();
    compact.edit("install-config.yaml", "replicas: 2", "replicas: 0");
    for worker in [0, 1] {
        let line = format!("- {{name: worker-{worker}, role: worker, ip: 192.168.126.11{worker}}}\n");
        compact.edit("cluster.yaml", &line, "");
    }
    assert_eq!(differences(&compact), "");
    compact.edit("install-config.yaml", "replicas: 3", "replicas: 1");
    for master in [1, 2] {
        let line = format!("- {{name: master-{master}, role: master, ip: 192.168.126.10{}}}\n", master + 1);
        compact.edit("cluster.yaml", &line, "");
    }
    assert_eq!(differences(&compact), "");
}

#[test]
fn an_edit_rebuilds_the_pods_that_carry_it() {
    let ws = Workspace::example();
    ws.build(&["static-pod"]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    assert!(ws.build(&["static-pod"]).is_empty(), "a worker's address");
    ws.edit("install-config.yaml", "172.30.0.0/16", "172.31.0.0/16");
    assert_eq!(
        ws.build(&["static-pod"]),
        ["static-pod/kube-apiserver", "static-pod/kube-controller-manager"]
    );
    ws.edit("install-config.yaml", "10.128.0.0/14", "10.132.0.0/14");
    assert_eq!(ws.build(&["static-pod"]), ["static-pod/kube-controller-manager", "static-pod/kube-proxy"]);
    ws.edit("cluster.yaml", "192.168.126.100", "192.168.126.105");
    assert_eq!(ws.build(&["static-pod"]), ["static-pod/etcd", "static-pod/kube-apiserver"]);
}
