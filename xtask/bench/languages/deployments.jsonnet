// 1,000 Deployments, with the checks of the KCL program.
local Port = {
  name: 'http',
  protocol: 'TCP',
  assert 0 < self.containerPort && self.containerPort < 65536 : 'port is out of range',
  assert self.protocol == 'TCP' || self.protocol == 'UDP' : 'no such protocol',
};
local Container = {
  cpu: '100m',
  memory: '128Mi',
  assert std.length(self.name) > 0 : 'a container needs a name',
  assert std.length(std.findSubstr(':', self.image)) > 0 : 'an image needs a tag',
};
local Metadata = {
  namespace: 'default',
  assert std.length(self.name) <= 63 : 'the name is too long',
};
local DeploymentSpec = {
  assert self.replicas >= 0 : 'replicas',
  assert std.length(self.containers) > 0 : 'no container',
};
local deployment(name, index) = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: Metadata {
    name: name,
    labels: { app: name, tier: if index % 2 == 0 then 'backend' else 'frontend' },
    annotations: { 'example.org/owner': 'team-' + index % 7 },
  },
  spec: DeploymentSpec {
    replicas: index % 5 + 1,
    selector: { app: name },
    containers: [
      Container {
        name: 'main',
        image: 'registry.local/main:v' + index,
        ports: [Port { containerPort: 8000 + index % 1000 }, Port { name: 'admin', containerPort: 9000 }],
        env: { NAME: 'main', INDEX: std.toString(index) },
      },
      Container {
        name: 'sidecar',
        image: 'registry.local/proxy:1.0',
        memory: '64Mi',
        ports: [Port { name: 'proxy', containerPort: 15000 }],
      },
    ],
  },
};
{ deployments: [deployment('app-' + i, i) for i in std.range(0, 999)] }
