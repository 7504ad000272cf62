import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '../../../src/base/units.js';
import type { GivenFile } from '../../../src/cli/options.js';
import { loadExperiment } from '../../../src/config/load.js';
import { ROOT, tempDir } from '../../cli/run-cli.js';
import { missing, readCommandLine } from '../tools.js';
import { type Manifest, manifests, objectsIn } from './manifests.js';
import { typeErrors } from './type-errors.js';

const ALL = manifests();
const objects = ALL.map(({ object }) => object);
const named = (kind: string, name: string) =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);
/** What runs pods, and their template. */
const workloads = objects.filter(({ spec }) => spec.template !== undefined);
const podOf = ({ spec }: Manifest['object']) => spec.template.spec;

describe('manifests of Kubernetes', () => {
  it('have the fields of their kind, with the right types, and no others', () => {
    expect(ALL.length).toBeGreaterThan(7);
    expect(typeErrors(ALL)).toEqual([]);
  });

  it('would be refused with a field of another name, a wrong type or one missing', () => {
    const job = named('Job', 'escapement-sweep');
    const wrong = [
      { ...job, spec: { ...job.spec, completionsMode: 'Indexed' } },
      { ...job, spec: { ...job.spec, parallelism: '8' } },
      { ...job, spec: { ...job.spec, template: undefined } },
    ].map((object) => ({ file: 'wrong.yaml', object }));
    const errors = typeErrors(wrong);
    expect(errors).toHaveLength(3);
    expect(errors[0]).toMatch(
      /^wrong\.yaml: Object literal may only specify known properties.*completionsMode/,
    );
  });

  it.for(['.', 'sweep', 'queue'])('are put together by kustomize: %s', (folder, { skip }) => {
    const noKubectl = missing('kubectl', 'kubernetes-client');
    skip(noKubectl !== '', `not put together: ${noKubectl}`);
    const dir = tempDir();
    cpSync(join(ROOT, 'deploy/kubernetes'), dir, { recursive: true });
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(dir, folder)], {
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    const built = objectsIn(stdout).filter((object) => object?.kind !== undefined);
    const images = built
      .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
      .map(({ image }) => image);
    expect(images).toContain('registry.example.com/escapement:0.1.0');
    expect(images).not.toContain('escapement');
    expect(typeErrors(built.map((object) => ({ file: folder, object })))).toEqual([]);
  });
});

describe('pods', () => {
  it('run as a user without rights, write to no root file system, and take no token', () => {
    expect(workloads).toHaveLength(5);
    for (const workload of workloads) {
      const pod = podOf(workload);
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        // Otherwise each Service sets variables that look like settings.
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(pod.containers).toHaveLength(1);
      for (const { securityContext, resources } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(resources.limits.memory).toBe(resources.requests.memory);
      }
    }
  });

  it('mount volumes that they have, and all of them', () => {
    for (const workload of workloads) {
      const pod = podOf(workload);
      const claims = (workload.spec.volumeClaimTemplates ?? []).map(
        (claim: Manifest['object']) => claim.metadata.name,
      );
      const volumes = [...pod.volumes.map(({ name }: { name: string }) => name), ...claims];
      const mounted = pod.containers[0].volumeMounts.map(({ name }: { name: string }) => name);
      expect(mounted.toSorted()).toEqual(volumes.toSorted());
    }
  });

  it('are found by the selectors of their Services, budgets and policies, at ports that they have', () => {
    const pods = workloads.map(({ spec }) => spec.template);
    const selecting = objects.filter(({ kind }) => /Service|PodDisruptionBudget|NetworkPolicy/.test(kind));
    expect(selecting).toHaveLength(7);
    for (const { kind, spec } of selecting) {
      const labels = kind === 'Service' ? spec.selector : (spec.selector ?? spec.podSelector).matchLabels;
      const chosen = pods.filter(({ metadata }) =>
        Object.entries(labels).every(([name, value]) => metadata.labels[name] === value),
      );
      expect(chosen).toHaveLength(1);
      const ports = chosen[0].spec.containers[0].ports.map(({ name }: { name: string }) => name);
      const asked =
        kind === 'Service'
          ? spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)
          : (spec.ingress ?? []).flatMap((rule: Manifest['object']) =>
              rule.ports.map(({ port }: { port: string }) => port),
            );
      expect(ports).toEqual(expect.arrayContaining(asked));
    }
  });

  it('are asked whether they live and are ready', () => {
    const probesOf = (name: string, kind: string) => podOf(named(kind, name)).containers[0];
    const controller = probesOf('escapement-controller', 'StatefulSet');
    expect(controller.livenessProbe.httpGet).toEqual({ path: '/v2/health/live', port: 'http' });
    expect(controller.readinessProbe.httpGet).toEqual({ path: '/v2/health/ready', port: 'http' });
    const worker = probesOf('escapement-worker', 'StatefulSet');
    for (const probe of [worker.livenessProbe, worker.readinessProbe])
      expect(probe.httpGet).toEqual({ path: '/healthz', port: 'metrics' });
  });
});

describe('containers', () => {
  /** Arguments as the first pod of a job gets them. */
  const argumentsOf = ({ args }: { readonly args: readonly string[] }) =>
    readCommandLine(args.map((arg) => arg.replace('$(JOB_COMPLETION_INDEX)', '0')));
  const argsOf = (kind: string, name: string) => argumentsOf(podOf(named(kind, name)).containers[0]);

  it('are called with flags that their command has', async () => {
    const own = workloads
      .map((workload) => podOf(workload).containers[0])
      .filter(({ image }) => image === 'escapement');
    expect(own).toHaveLength(4);
    const [runtime] = objectsIn(readFileSync(join(ROOT, 'deploy/kserve/runtime.yaml'), 'utf8'));
    for (const container of [...own, runtime.spec.containers[0]]) await argumentsOf(container);
    const { device, gpus } = await argsOf('StatefulSet', 'escapement-worker');
    const { limits } = podOf(named('StatefulSet', 'escapement-worker')).containers[0].resources;
    expect([device, String(gpus)]).toEqual(['cuda', limits['nvidia.com/gpu']]);
  });

  it('of workers register with all controllers, also with one that stands by', async () => {
    const { controller, 'token-file': token } = await argsOf('StatefulSet', 'escapement-worker');
    const {
      listen,
      standby,
      'worker-token-file': asked,
    } = await argsOf('StatefulSet', 'escapement-controller');
    const [service] = String(controller).split(':');
    expect({ controller, standby, token }).toMatchObject({
      controller: [`${service}:${listen}`],
      standby: true,
      token: { path: (asked as GivenFile).path },
    });
    const { spec } = named('Service', service);
    expect(spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    // Of a standby, which is never ready, any other update would wait for ever or for nothing.
    expect(named('StatefulSet', 'escapement-controller').spec).toMatchObject({
      serviceName: service,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'OnDelete' },
    });
    expect(spec.ports).toEqual([{ name: 'registration', port: Number(listen), targetPort: 'registration' }]);
    const { ports } = podOf(named('StatefulSet', 'escapement-controller')).containers[0];
    expect(ports).toContainEqual({ name: 'registration', containerPort: Number(listen) });
  });

  it('of controllers have time to say that they go, and to drain', async () => {
    const { drain, 'drain-notice': notice } = await argsOf('StatefulSet', 'escapement-controller');
    const pod = podOf(named('StatefulSet', 'escapement-controller'));
    const { periodSeconds, failureThreshold } = pod.containers[0].readinessProbe;
    expect(Number(notice) / NS_PER_S).toBeGreaterThan(periodSeconds * failureThreshold);
    expect(pod.terminationGracePeriodSeconds * NS_PER_S).toBeGreaterThan(Number(notice) + Number(drain));
  });

  it('of a sweep share it in as many parts as there are pods', async () => {
    const { spec } = named('Job', 'escapement-sweep');
    expect(spec).toMatchObject({ completionMode: 'Indexed', parallelism: spec.completions });
    const { shard } = await argsOf('Job', 'escapement-sweep');
    expect(shard).toEqual({ index: 0, count: spec.completions });
    await loadExperiment(join(ROOT, 'deploy/kubernetes/sweep/experiment.yaml'));
  });
});
