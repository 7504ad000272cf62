import { spawnSync } from 'node:child_process';

/** A Python that has all these modules. Debian's packages belong to Debian's Python, which need not be the first one found. */
export function pythonWith(...modules: string[]): string | undefined {
  const imports = ['-c', `import ${modules.join(', ')}`];
  return ['python3', '/usr/bin/python3'].find((command) => spawnSync(command, imports).status === 0);
}
