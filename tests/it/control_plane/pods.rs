//! What every static pod says, as the kubelet reads it: without comments.

use std::fs;

use super::{container, dual_stack, ipv6, pod};
use crate::harness::Workspace;

/// A pod's file without comments and digests.
pub(super) fn bare(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    let digest = |line: &str| match line.split_once("sha256:") {
        Some((begin, digest)) if digest.len() == 64 => format!("{begin}sha256:[DIGEST]\n"),
        _ => format!("{line}\n"),
    };
    lines.map(digest).collect()
}

#[test]
fn cluster_version_operator() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "cluster-version-operator")), @r"
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
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "etcd")), @r#"
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
        - --experimental-initial-corrupt-check=true
        - --cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
        - --socket-reuse-address=true
        env:
        - name: ETCD_EXPERIMENTAL_MAX_LEARNERS
          value: "3"
        - name: ETCD_EXPERIMENTAL_WATCH_PROGRESS_NOTIFY_INTERVAL
          value: 5s
        - name: ETCD_EXPERIMENTAL_WARNING_APPLY_DURATION
          value: 200ms
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
            cpu: 245m
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
    "#);
}

#[test]
fn kube_apiserver() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "kube-apiserver")), @r#"
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
        - --openshift-config=/etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml
        - --etcd-servers=https://localhost:2379
        - --etcd-cafile=/etc/kubernetes/secrets/etcd-ca.crt
        - --etcd-certfile=/etc/kubernetes/secrets/etcd-client.crt
        - --etcd-keyfile=/etc/kubernetes/secrets/etcd-client.key
        - --etcd-prefix=kubernetes.io
        - --etcd-healthcheck-timeout=9s
        - --etcd-readycheck-timeout=9s
        - --tls-cert-file=/etc/kubernetes/secrets/kube-apiserver.crt
        - --tls-private-key-file=/etc/kubernetes/secrets/kube-apiserver.key
        - --client-ca-file=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --kubelet-client-certificate=/etc/kubernetes/secrets/kube-apiserver-kubelet-client.crt
        - --kubelet-client-key=/etc/kubernetes/secrets/kube-apiserver-kubelet-client.key
        - --kubelet-certificate-authority=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --kubelet-preferred-address-types=InternalIP
        - --service-account-signing-key-file=/etc/kubernetes/secrets/bound-service-account-signing-key.key
        - --authorization-mode=Scope,SystemMasters,RBAC,Node
        - --enable-admission-plugins=CertificateApproval,CertificateSigning,CertificateSubjectRestriction,DefaultIngressClass,DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,MutatingAdmissionWebhook,NamespaceLifecycle,NodeRestriction,OwnerReferencesPermissionEnforcement,PersistentVolumeClaimResize,PodNodeSelector,PodTolerationRestriction,Priority,ResourceQuota,RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,authorization.openshift.io/RestrictSubjectBindings,authorization.openshift.io/ValidateRoleBindingRestriction,config.openshift.io/DenyDeleteClusterConfiguration,config.openshift.io/ValidateAPIServer,config.openshift.io/ValidateAuthentication,config.openshift.io/ValidateConsole,config.openshift.io/ValidateFeatureGate,config.openshift.io/ValidateImage,config.openshift.io/ValidateOAuth,config.openshift.io/ValidateProject,config.openshift.io/ValidateScheduler,image.openshift.io/ImagePolicy,network.openshift.io/ExternalIPRanger,network.openshift.io/RestrictedEndpointsAdmission,quota.openshift.io/ClusterResourceQuota,quota.openshift.io/ValidateClusterResourceQuota,route.openshift.io/IngressAdmission,scheduling.openshift.io/OriginPodNodeEnvironment,security.openshift.io/DefaultSecurityContextConstraints,security.openshift.io/SCCExecRestrictions,security.openshift.io/SecurityContextConstraint,security.openshift.io/ValidateSecurityContextConstraints,storage.openshift.io/CSIInlineVolumeSecurity
        - --feature-gates=AdminNetworkPolicy=true,CloudDualStackNodeIPs=true,HardwareSpeed=true,ManagedBootImages=true,NetworkDiagnosticsConfig=true,NodeDisruptionPolicy=true,OnClusterBuild=true,VSphereStaticIPs=true,ValidatingAdmissionPolicy=true,AdditionalRoutingCapabilities=false,ClusterAPIInstall=false,DynamicResourceAllocation=false,EtcdBackendQuota=false,EventedPLEG=false,MachineAPIMigration=false,MachineConfigNodes=false,MinimumKubeletVersion=false,NodeSwap=false,OpenShiftPodSecurityAdmission=false,PinnedImages=false,RouteAdvertisements=false,SignatureStores=false,SigstoreImageVerification=false,UserNamespacesSupport=false
        - --runtime-config=admissionregistration.k8s.io/v1beta1=true
        - --allow-privileged=true
        - --requestheader-client-ca-file=/etc/kubernetes/secrets/front-proxy-ca.crt
        - --requestheader-allowed-names=kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator
        - --requestheader-username-headers=X-Remote-User
        - --requestheader-group-headers=X-Remote-Group
        - --requestheader-extra-headers-prefix=X-Remote-Extra-
        - --proxy-client-cert-file=/etc/kubernetes/secrets/front-proxy-client.crt
        - --proxy-client-key-file=/etc/kubernetes/secrets/front-proxy-client.key
        - --enable-aggregator-routing=true
        - --audit-policy-file=/etc/kubernetes/bootstrap-configs/audit-policy.yaml
        - --audit-log-path=/var/log/kube-apiserver/audit.log
        - --audit-log-format=json
        - --audit-log-maxbackup=10
        - --audit-log-maxsize=200
        - --max-requests-inflight=3000
        - --max-mutating-requests-inflight=1000
        - --min-request-timeout=3600
        - --http2-max-streams-per-connection=2000
        - --goaway-chance=0.001
        - --event-ttl=3h
        - --shutdown-delay-duration=70s
        - --shutdown-send-retry-after=true
        - --strict-transport-security-directives=max-age=31536000,includeSubDomains,preload
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
        - name: configs
          mountPath: /etc/kubernetes/bootstrap-configs
          readOnly: true
        - name: audit
          mountPath: /var/log/kube-apiserver
      volumes:
      - name: secrets
        hostPath:
          path: /etc/kubernetes/bootstrap-secrets
          type: Directory
      - name: configs
        hostPath:
          path: /etc/kubernetes/bootstrap-configs
          type: Directory
      - name: audit
        hostPath:
          path: /var/log/kube-apiserver
          type: DirectoryOrCreate
    "#);
}

/// A file that a program of the bootstrap node reads, without comments.
fn config(ws: &Workspace, target: &str, file: &str) -> String {
    ws.build(&[target]);
    bare(&fs::read_to_string(ws.path_of(target).join(file)).unwrap())
}

#[test]
fn kube_apiserver_config() {
    let file = |ws: &Workspace| config(ws, "bootstrap-config/kube-apiserver", "kube-apiserver-config.yaml");
    let example = file(&Workspace::example().prebuilt());
    insta::assert_snapshot!(example, @r#"
    apiVersion: kubecontrolplane.config.openshift.io/v1
    kind: KubeAPIServerConfig
    servicesSubnet: "172.30.0.0/16"
    servingInfo:
      bindAddress: "0.0.0.0:6443"
    serviceAccountPublicKeyFiles:
    - /etc/kubernetes/secrets/bound-service-account-signing-key.pub
    - /etc/kubernetes/secrets/service-account.pub
    apiServerArguments:
      service-account-issuer:
      - "https://kubernetes.default.svc"
      api-audiences:
      - "https://kubernetes.default.svc"
      enable-logs-handler:
      - "false"
      kubelet-read-only-port:
      - "0"
    admission:
      pluginConfig:
        PodSecurity:
          configuration:
            apiVersion: pod-security.admission.config.k8s.io/v1
            kind: PodSecurityConfiguration
            defaults:
              enforce: privileged
              enforce-version: latest
              audit: restricted
              audit-version: latest
              warn: restricted
              warn-version: latest
            exemptions:
              usernames:
              - system:serviceaccount:openshift-infra:build-controller
        network.openshift.io/ExternalIPRanger:
          configuration:
            apiVersion: network.openshift.io/v1
            kind: ExternalIPRangerAdmissionConfig
            allowIngressIP: true
            externalIPNetworkCIDRs: null
        network.openshift.io/RestrictedEndpointsAdmission:
          configuration:
            apiVersion: network.openshift.io/v1
            kind: RestrictedEndpointsAdmissionConfig
            restrictedCIDRs:
            - "172.30.0.0/16"
            - "10.128.0.0/14"
    "#);
    // What the masters will say about who issues tokens.
    let issued = Workspace::example().prebuilt();
    issued.write(
        "manifests/mine.yaml",
        "apiVersion: config.openshift.io/v1\nkind: Authentication\nmetadata: {name: cluster}\nspec: {serviceAccountIssuer: 'https://issuer.example.com'}\n",
    );
    let mut lines = String::new();
    for ws in [issued, dual_stack(), ipv6()] {
        let text = file(&ws);
        let others = text.lines().filter(|line| !example.lines().any(|usual| usual == *line));
        others.for_each(|line| lines.push_str(&format!("{}\n", line.trim())));
    }
    insta::assert_snapshot!(lines, @r#"
    - "https://issuer.example.com"
    - "https://issuer.example.com"
    servicesSubnet: "172.30.0.0/16,fd02::/112"
    - "fd02::/112"
    - "fd01::/48"
    servicesSubnet: "fd02::/112"
    bindAddress: "[::]:6443"
    - "fd02::/112"
    - "fd01::/48"
    "#);
}

/// What a preview of the release turns on changes flags and configuration alike.
#[test]
fn gates_decide_modes_apis_and_pod_security() {
    let ws = Workspace::example().prebuilt();
    ws.edit("install-config.yaml", "apiVersion: v1\n", "apiVersion: v1\nfeatureSet: TechPreviewNoUpgrade\n");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    ws.relock();
    let text = pod(&ws, "kube-apiserver");
    let flag = |name: &str| {
        let flags = container(&text).flags;
        flags.iter().find(|flag| flag.name == name).and_then(|flag| flag.value.clone()).unwrap_or_default()
    };
    assert_eq!(flag("authorization-mode"), "Scope,SystemMasters,RBAC,MinimumKubeletVersion,Node");
    assert!(flag("feature-gates").contains("OpenShiftPodSecurityAdmission=true"), "{text}");
    let file = config(&ws, "bootstrap-config/kube-apiserver", "kube-apiserver-config.yaml");
    assert!(file.contains("enforce: restricted\n"), "{file}");
    let manager = pod(&ws, "kube-controller-manager");
    let controllers = "--controllers=*,-ttl,-bootstrapsigner,-tokencleaner,selinux-warning-controller\n";
    assert!(manager.contains(controllers), "{manager}");
}

#[test]
fn kube_controller_manager() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "kube-controller-manager")), @r#"
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
        - --openshift-config=/etc/kubernetes/bootstrap-configs/kube-controller-manager-config.yaml
        - --kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --authentication-kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --authorization-kubeconfig=/etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig
        - --bind-address=127.0.0.1
        - --leader-elect=true
        - --leader-elect-renew-deadline=12s
        - --leader-elect-retry-period=3s
        - --controllers=*,-ttl,-bootstrapsigner,-tokencleaner
        - --feature-gates=AdminNetworkPolicy=true,CloudDualStackNodeIPs=true,HardwareSpeed=true,ManagedBootImages=true,NetworkDiagnosticsConfig=true,NodeDisruptionPolicy=true,OnClusterBuild=true,VSphereStaticIPs=true,ValidatingAdmissionPolicy=true,AdditionalRoutingCapabilities=false,ClusterAPIInstall=false,DynamicResourceAllocation=false,EtcdBackendQuota=false,EventedPLEG=false,MachineAPIMigration=false,MachineConfigNodes=false,MinimumKubeletVersion=false,NodeSwap=false,OpenShiftPodSecurityAdmission=false,PinnedImages=false,RouteAdvertisements=false,SignatureStores=false,SigstoreImageVerification=false,UserNamespacesSupport=false
        - --kube-api-qps=150
        - --kube-api-burst=300
        - --cluster-cidr=10.128.0.0/14
        - --service-cluster-ip-range=172.30.0.0/16
        - --allocate-node-cidrs=false
        - --cluster-signing-cert-file=/etc/kubernetes/secrets/kubernetes-ca.crt
        - --cluster-signing-key-file=/etc/kubernetes/secrets/kubernetes-ca.key
        - --cluster-signing-duration=720h
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
        - name: configs
          mountPath: /etc/kubernetes/bootstrap-configs
          readOnly: true
      - name: cluster-policy-controller
        image: demo.invalid/openshift/components@sha256:[DIGEST]
        command:
        - cluster-policy-controller
        - start
        args:
        - --config=/etc/kubernetes/bootstrap-configs/cluster-policy-controller-config.yaml
        - --kubeconfig=/etc/kubernetes/kubeconfigs/localhost.kubeconfig
        - --namespace=kube-system
        - --v=2
        env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        ports:
        - name: https-policy
          containerPort: 10357
        startupProbe:
          httpGet:
            host: 127.0.0.1
            port: 10357
            path: /healthz
            scheme: HTTPS
          periodSeconds: 5
          timeoutSeconds: 10
          failureThreshold: 120
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            port: 10357
            path: /healthz
            scheme: HTTPS
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 3
        resources:
          requests:
            cpu: 10m
            memory: 200Mi
        securityContext:
          privileged: true
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - name: kubeconfigs
          mountPath: /etc/kubernetes/kubeconfigs
          readOnly: true
        - name: configs
          mountPath: /etc/kubernetes/bootstrap-configs
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
      - name: configs
        hostPath:
          path: /etc/kubernetes/bootstrap-configs
          type: Directory
    "#);
}

#[test]
fn kube_proxy() {
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "kube-proxy")), @r"
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
        - --kubeconfig=/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig
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
          mountPath: /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig
          readOnly: true
        - name: modules
          mountPath: /lib/modules
          readOnly: true
        - name: xtables-lock
          mountPath: /run/xtables.lock
      volumes:
      - name: kubeconfig
        hostPath:
          path: /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig
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
    insta::assert_snapshot!(bare(&pod(&Workspace::example().prebuilt(), "kube-scheduler")), @r"
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
