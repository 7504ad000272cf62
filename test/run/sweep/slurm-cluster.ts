import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { tempDir } from '../../cli/run-cli.js';
import { freePorts } from '../../free-ports.js';

const DAEMONS = ['munged', 'slurmctld', 'slurmd'] as const;
/** On a machine of two processors, too, tasks may ask for many. */
const NODE_CPUS = 64;
const STATE_MS = 60_000;
const COMMAND_MS = 30_000;

/** Empty where Slurm is installed, otherwise what is missing. */
export function missingSlurm(): string {
  const missing = DAEMONS.filter((name) => spawnSync(name, ['--version'], { env: environment() }).error);
  return missing.length === 0 ? '' : `${missing.join(', ')} not installed: apt-get install slurm-wlm munge`;
}

/** A Slurm of one node, on loopback ports, whose files all lie in one folder. */
export class SlurmCluster {
  private readonly dir = tempDir();
  private readonly daemons = new Map<string, ChildProcess>();

  /** Resolves with what went wrong, empty: it is up. */
  async start(): Promise<string> {
    await this.configure();
    const secret = join(this.dir, 'munge');
    const options = ['key', 'socket', 'pid', 'log', 'seed'].map((name) => {
      const flag = { pid: 'pid-file', key: 'key-file', log: 'log-file', seed: 'seed-file' }[name] ?? name;
      return `--${flag}=${join(secret, name)}`;
    });
    this.launch('munged', ['--foreground', '--force', ...options]);
    this.launch('slurmctld', ['-i', '-D']);
    this.launch('slurmd', ['-D']);
    const state = await this.nodeIs(/^idle$/);
    if (state === '') return '';
    return `Slurm does not start here: ${state}${this.log('slurmctld')}${this.log('slurmd')}`;
  }

  /** Waits for a state of the node. Resolves with the one that it is in after too long, otherwise with nothing. */
  private async nodeIs(wanted: RegExp): Promise<string> {
    const lastMs = performance.now() + STATE_MS;
    let state = '';
    while (performance.now() < lastMs) {
      state = await this.run('sinfo', ['-h', '-o', '%T']).catch(String);
      if (wanted.test(state.trim())) return '';
      for (const [name, { exitCode }] of this.daemons)
        if (exitCode !== null) return `${name} has ended with ${exitCode}`;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return state;
  }

  /** Ends all jobs and daemons. */
  async stop(): Promise<void> {
    if (this.daemons.size === 0) return;
    await this.run('scancel', ['--user', userInfo().username]).catch(() => {});
    await this.jobsEnded(20_000).catch(() => {});
    for (const daemon of this.daemons.values()) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) continue;
      daemon.kill('SIGKILL');
      await once(daemon, 'exit');
    }
  }

  /** Submits a script that lies in `cwd`, and returns the number of the job. */
  async submit(cwd: string, ...args: string[]): Promise<string> {
    return (await this.run('sbatch', ['--parsable', ...args], cwd)).trim();
  }

  async jobsEnded(mostMs = 180_000): Promise<void> {
    const lastMs = performance.now() + mostMs;
    for (;;) {
      const queue = await this.run('squeue', ['-h']);
      if (queue === '') return;
      if (performance.now() > lastMs) throw new Error(`jobs do not end:\n${queue}${this.log('slurmctld')}`);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  private run(command: string, args: readonly string[], cwd = this.dir): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { cwd, env: environment(this.dir), timeout: COMMAND_MS };
      execFile(command, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${command} ${args.join(' ')}: ${error.message}\n${stderr}`));
      });
    });
  }

  private async configure(): Promise<void> {
    const { dir } = this;
    const name = hostname().split('.')[0];
    const user = userInfo().username;
    const [controllerPort, nodePort] = await freePorts(2);
    for (const folder of ['state', 'spool']) mkdirSync(join(dir, folder));
    mkdirSync(join(dir, 'munge'), { mode: 0o700 });
    writeFileSync(join(dir, 'munge', 'key'), randomBytes(128), { mode: 0o400 });
    writeFileSync(join(dir, 'cgroup.conf'), 'CgroupPlugin=cgroup/v1\n');
    writeFileSync(
      join(dir, 'slurm.conf'),
      `ClusterName=test
SlurmctldHost=${name}(127.0.0.1)
SlurmctldPort=${controllerPort}
SlurmdPort=${nodePort}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthInfo=socket=${dir}/munge/socket,cred_expire=5
SlurmUser=${user}
SlurmdUser=${user}
StateSaveLocation=${dir}/state
SlurmdSpoolDir=${dir}/spool
SlurmctldPidFile=${dir}/slurmctld.pid
SlurmdPidFile=${dir}/slurmd.pid
SlurmctldLogFile=${dir}/slurmctld.log
SlurmdLogFile=${dir}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1,sched_interval=1
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
NodeName=${name} NodeAddr=127.0.0.1 CPUs=${NODE_CPUS} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`,
    );
  }

  private launch(name: string, args: readonly string[]): void {
    const env = environment(this.dir);
    this.daemons.set(name, spawn(name, args, { cwd: this.dir, env, stdio: 'ignore' }));
  }

  private log(name: string): string {
    try {
      return `\n${name}:\n${readFileSync(join(this.dir, `${name}.log`), 'utf8').slice(-2000)}`;
    } catch {
      return '';
    }
  }
}

/** Daemons lie where only root looks. */
function environment(dir?: string): NodeJS.ProcessEnv {
  const { PATH = '', ...rest } = process.env;
  const path = `${PATH}:/usr/sbin:/sbin`;
  return { ...rest, PATH: path, ...(dir === undefined ? {} : { SLURM_CONF: join(dir, 'slurm.conf') }) };
}
