import type { Fault } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';

/** Without a worker, and all that happens to it. */
export function withoutMachine(scenario: Scenario, name: string): Scenario {
  const machines = scenario.cluster.machines.filter((machine) => machine.name !== name);
  return {
    ...scenario,
    cluster: { ...scenario.cluster, machines },
    faults: scenario.faults.filter((fault) => !concerns(fault, name)),
  };
}

/** Without a controller, and all that happens to it. */
export function withoutController(scenario: Scenario, name: string): Scenario {
  const controllers = scenario.cluster.controllers.filter((controller) => controller.name !== name);
  return {
    ...scenario,
    cluster: { ...scenario.cluster, controllers },
    faults: scenario.faults.filter((fault) => !concerns(fault, name)),
  };
}

/** Without a model or a pipeline, the pipelines that need it, and the requests for them. */
export function withoutModel(scenario: Scenario, name: string): Scenario {
  const { cluster, workload } = scenario;
  const { pipelines = [] } = cluster;
  const users = pipelines.filter(({ steps }) => steps.some(({ models }) => models.includes(name)));
  const gone = [name, ...users.map((pipeline) => pipeline.name)];
  return {
    ...scenario,
    cluster: {
      ...cluster,
      models: cluster.models.filter((model) => model.name !== name),
      pipelines: pipelines.filter((pipeline) => !gone.includes(pipeline.name)),
    },
    workload: {
      clients: workload.clients
        .map((client) => ({ ...client, models: client.models.filter((model) => !gone.includes(model)) }))
        .filter(({ models }) => models.length > 0),
      changes: workload.changes.filter(({ model }) => model !== name),
    },
  };
}

function concerns(fault: Fault, name: string): boolean {
  const { process, machine, from, to } = fault as Fault & Partial<Record<string, unknown>>;
  return [process, machine, from, to].includes(name);
}
