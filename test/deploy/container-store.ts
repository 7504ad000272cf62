import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, tempDir } from '../cli/run-cli.js';
import { missing } from './tools.js';

const BASE = 'node-base';
const IMAGE = 'escapement';
/** Debian's release with Node 20.19. */
const RELEASE = 'trixie';
const TOOLS = ['buildah', 'podman', 'mmdebstrap'] as const;
/** Neither the documentation nor the translations of packages are needed. */
const LEAN = ['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
/** Whom the machine trusts, in Debian. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
/** What images podman may run. */
const POLICY = '/etc/containers/policy.json';
/** npm did not reach its registry. */
const NO_REGISTRY = /npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)/;

/** Empty where images can be built and run, otherwise what is missing. */
export function missingContainerTools(): string {
  if (process.getuid?.() !== 0) return 'only root can build images here';
  if (!existsSync(POLICY)) return `${POLICY} is missing: apt-get install golang-github-containers-common`;
  return TOOLS.map((tool) => missing(tool, TOOLS.join(' '))).find((what) => what !== '') ?? '';
}

/** Images and containers in a folder of their own, so that nothing on the machine changes. */
export class ContainerStore {
  private readonly dir = tempDir();
  /** podman takes no longer path than 50 characters for what containers need while they run. */
  private readonly runDir = mkdtempSync('/tmp/escapement-');

  /** Builds a base image from Debian's packages, and ours on it. Resolves with why that cannot be done here; empty: it is. */
  async build(): Promise<string> {
    const tar = join(this.dir, 'base.tar');
    const npm = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' }).stdout.trim();
    // Debian's package of npm has 400 dependencies.
    const hooks = [
      'mkdir -p "$1/usr/lib/node_modules"',
      `copy-in "${join(npm, 'npm')}" /usr/lib/node_modules`,
      // Networks may have authorities of their own.
      `copy-in ${AUTHORITIES} ${dirname(AUTHORITIES)}`,
      'ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/bin/npm"',
    ].map((hook) => `--customize-hook=${hook}`);
    const packages = ['--variant=apt', '--include=nodejs,ca-certificates'];
    const base = await run('mmdebstrap', [...packages, ...LEAN, ...hooks, RELEASE, tar]);
    if (base.status !== 0) return `no base image from Debian's packages: ${lastLine(base.output)}`;
    await this.must('podman', ['import', '--change', `ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES}`, tar, BASE]);
    rmSync(tar);
    const probe = await run('sh', this.podmanRun([BASE, 'node', '--version']));
    if (probe.status !== 0) return `podman runs no containers here: ${lastLine(probe.output)}`;
    const cache = spawnSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).stdout.trim();
    mkdirSync(cache, { recursive: true });
    const build = ['bud', '--isolation', 'chroot', '--build-arg', `NODE_IMAGE=localhost/${BASE}`];
    const files = ['--volume', `${cache}:/root/.npm`, '--file', join(ROOT, 'deploy/Dockerfile')];
    const built = await run('buildah', [...this.storage(), ...build, ...files, '--tag', IMAGE, ROOT]);
    if (NO_REGISTRY.test(built.output)) return 'npm does not reach its registry';
    if (built.status !== 0) throw new Error(`the image cannot be built:\n${built.output.slice(-4000)}`);
    return '';
  }

  /** Starts a container with a root file system that cannot be written to. `options` are podman's. */
  start(options: readonly string[], command: readonly string[]): ChildProcess {
    return spawn('unshare', ['--mount', 'sh', ...this.podmanRun([...options, IMAGE, ...command])], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** The configuration of the image. */
  async inspect(): Promise<Readonly<Record<string, unknown>>> {
    const output = await this.must('podman', ['image', 'inspect', IMAGE]);
    return JSON.parse(output)[0].Config;
  }

  remove(): void {
    for (const dir of [this.dir, this.runDir]) rmSync(dir, { recursive: true, force: true });
  }

  private storage(): string[] {
    const { dir, runDir } = this;
    return ['--root', join(dir, 'store'), '--runroot', join(runDir, 'r'), '--storage-driver', 'overlay'];
  }

  private async must(program: string, args: readonly string[]): Promise<string> {
    const { status, output } = await run(program, [...this.storage(), ...args]);
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}:\n${output}`);
    return output;
  }

  /**
   * Arguments of the shell for a container in the network of the machine, as a bridge would change that. crun refuses machines that
   * have both versions of control groups, so it does not see the second.
   */
  private podmanRun(args: readonly string[]): string[] {
    const hideCgroup2 = 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"';
    const podman = ['podman', ...this.storage(), '--tmpdir', join(this.runDir, 't')];
    const flags = ['--rm', '--read-only', '--network=host', '--no-healthcheck', '--cgroups=disabled'];
    // More than this process has would need a right that containers have not.
    const files = spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout.trim();
    const limits = [`--ulimit=nofile=${files}:${files}`, '--ulimit=nproc=2000:2000'];
    return ['-c', hideCgroup2, 'sh', ...podman, 'run', ...flags, ...limits, ...args];
  }
}

/**
 * Runs a program with mounts of its own: some of these show folders of the machine, and whatever removes ours must not reach
 * those, even if the program was killed.
 */
function run(program: string, args: readonly string[]): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    execFile('unshare', ['--mount', program, ...args], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : Number(error.code ?? 1);
      resolve({ status, output: status === 0 ? stdout : stdout + stderr });
    });
  });
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
