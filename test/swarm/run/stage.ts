import { Registry } from 'prom-client';
import { EscapementError } from '../../../src/base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import type { ServerSettings } from '../../../src/config/server-settings.js';
import type { Server } from '../../../src/serve/server.js';
import type { ControllerScenario, MachineScenario, Scenario } from '../scenario/scenario.js';
import { type SimMachine, type SimProcess, Simulation, threadBodies } from '../world/index.js';
import { Clients } from './clients.js';
import { startController, stopController } from './controller-process.js';
import { lifeOf, Recorder } from './recorder.js';
import { startWorker } from './worker-process.js';

/** A supervisor starts what has ended by itself after this. */
const RESTART_NS = NS_PER_S;
/** From a client, or a load balancer, to a frontend. */
const CLIENT_NS = NS_PER_MS / 5;
/** Who does not end in time is killed. */
const STOP_NS = 30 * NS_PER_S;

/** One program on a machine of its own, and what runs of it now. */
export interface Role {
  readonly process: SimProcess;
  readonly machine: SimMachine;
  /** Asks it to shut down; null: it has not started so far. */
  stop: (() => Promise<void>) | null;
  /** Of a controller. */
  server: Server | null;
  registry: Registry;
  /** Not before this it is started again. */
  downUntilNs: number;
}

/** The processes of a scenario in a simulated world, with its clients and who writes down what happens. */
export class Stage {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly clients: Clients;
  /** By name of the process. */
  readonly roles = new Map<string, Role>();
  /** Nothing is started again. */
  isOver = false;

  constructor(
    readonly scenario: Scenario,
    private readonly runtime: ServerSettings['runtime'],
  ) {
    this.recorder = new Recorder(
      scenario.cluster.models,
      ({ process }) => this.ended(process),
      (name) => this.role(name).machine.clock.localNs(),
      scenario.cluster.machines.every(({ lacks }) => lacks === undefined),
    );
    this.simulation = new Simulation({
      seed: scenario.seed,
      tap: this.recorder,
      bodies: threadBodies({
        hasClients: (process) => this.clients.wait(lifeOf(process)),
        frontend: (process, thread) => {
          const { name } = process;
          const life = lifeOf(process);
          if (thread === null) this.clients.closed(life);
          else {
            const { service, loop } = thread;
            const enter = (run: () => void) => loop.receive(CLIENT_NS, run);
            this.clients.doors.set(name, { process: life, service, enter });
          }
        },
      }),
    });
    this.clients = new Clients(this.simulation, scenario, this.recorder);
    for (const machine of scenario.cluster.machines) this.addWorker(machine);
    for (const controller of scenario.cluster.controllers) this.addController(controller);
    this.connect();
  }

  get controllers(): readonly Role[] {
    return this.scenario.cluster.controllers.map(({ name }) => this.role(name));
  }

  get workers(): readonly Role[] {
    return this.scenario.cluster.machines.map(({ name }) => this.role(name));
  }

  role(name: string): Role {
    const role = this.roles.get(name);
    if (role === undefined) throw new Error(`the scenario has no process ${name}`);
    return role;
  }

  /** Asks a process to shut down, and kills it if it does not. */
  stop(role: Role): void {
    const { process } = role;
    const { incarnation } = process;
    if (!process.isUp || role.stop === null) {
      process.crash();
      return;
    }
    const isSame = () => process.isUp && process.incarnation === incarnation;
    this.recorder.add({ atNs: this.simulation.nowNs, kind: 'asked to stop', process: lifeOf(process) });
    const { stop } = role;
    // What goes wrong is uncaught, and ends the process.
    process.signal(() => void stop().then(() => isSame() && process.exit(0)));
    this.simulation.at(this.simulation.nowNs + STOP_NS, () => isSame() && process.crash());
  }

  /** Starts it, unless it runs or is to stay down for longer. */
  start(role: Role): void {
    const isDue = this.simulation.nowNs >= role.downUntilNs;
    if (isDue && !this.isOver && !role.process.isUp) role.process.start();
  }

  private addWorker(worker: MachineScenario): void {
    this.add(worker.name, worker.clock, async (role) => {
      const running = await startWorker(role.process, worker, this.scenario);
      role.stop = () => running.close();
    });
    this.simulation.at(0, () => this.start(this.role(worker.name)));
  }

  private addController(controller: ControllerScenario): void {
    const { scenario, runtime } = this;
    this.add(controller.name, controller.clock, async (role) => {
      const { process, registry } = role;
      const server = await startController({ process, controller, scenario, runtime, registry }).catch(
        (error) => endOf(process, error),
      );
      if (server === null) return;
      role.server = server;
      role.stop = () => stopController(server);
      // What ends the start ends the server.
      server.started.catch((error) => endOf(process, error));
    });
    this.simulation.at(controller.startNs, () => this.start(this.role(controller.name)));
  }

  private add(name: string, clock: MachineScenario['clock'], main: (role: Role) => Promise<void>): void {
    const machine = this.simulation.machine(name, clock);
    const process = machine.process(name, () => {
      Object.assign(role, { stop: null, server: null, registry: new Registry() });
      return main(role);
    });
    const role: Role = {
      process,
      machine,
      stop: null,
      server: null,
      registry: new Registry(),
      downUntilNs: 0,
    };
    this.roles.set(name, role);
  }

  private connect(): void {
    const { delayNs, jitterNs } = this.scenario.cluster;
    const machines = [...this.roles.values()].map(({ machine }) => machine);
    for (const from of machines)
      for (const to of machines) {
        if (from === to) continue;
        const path = this.simulation.network.path(from, to);
        path.quality = { ...path.quality, delayNs, jitterNs };
      }
  }

  /** As a supervisor does: what has ended is started again. */
  private ended(name: string): void {
    const role = this.role(name);
    this.clients.closed(lifeOf(role.process));
    const atNs = Math.max(this.simulation.nowNs + RESTART_NS, role.downUntilNs);
    this.simulation.at(atNs, () => this.start(role));
  }
}

/** As the command line does it: a problem that an operator can cause ends the process with a line. Null. */
function endOf(process: SimProcess, error: unknown): null {
  if (!(error instanceof EscapementError)) throw error;
  process.log.fatal(error.message);
  process.exit(1);
  return null;
}
