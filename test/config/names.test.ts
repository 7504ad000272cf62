import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';

const WORKLOAD = 'kind: poisson, rate: 5/s, duration: 1s';
const MODELS = `models: { kind: fit, name: 'x', parameters: 1M }`;

it.each(['1.10', '1e3', 'true'])('a name such as %s needs quotes', async (name) => {
  const read = (written: string) =>
    parseExperiment(`${MODELS}\nname: ${written}\nworkload: { ${WORKLOAD}, models: ${written} }\n`, 'x.yaml');
  await expect(read(name)).rejects.toThrow(
    /^x\.yaml:2: name: must be a string, found \S+: put it in quotes$/,
  );
  await expect(read(`'${name}'`)).rejects.toThrow(`workload.models: "${name}" matches no model`);
});

it('a name such as 0012 does not', async () => {
  const text = `models: { kind: fit, name: 0012, parameters: 1M }\nworkload: { ${WORKLOAD}, models: [0012, x*] }\n`;
  await expect(parseExperiment(text, 'x.yaml')).rejects.toThrow('workload.models: "x*" matches no model');
});

it('what is left empty is no name', async () => {
  const reading = parseExperiment(`models: { kind: zoo }\nworkload: { ${WORKLOAD}, models: }\n`, 'x.yaml');
  await expect(reading).rejects.toThrow('x.yaml:2: workload.models: has no value');
});
