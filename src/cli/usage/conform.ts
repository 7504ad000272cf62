import { durationOr, group, list, required, sizeOr, text, textOr, toggle } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, quiet, trustFlags } from './common.js';

export const usage = usageOf({
  arguments: { url: required(text('URL', 'http://HOST:PORT of the server; https:// for TLS')) },
  flags: {
    ...group('Server', {
      grpc: text('HOST:PORT', 'Address of its gRPC port; without it, cases of gRPC are skipped'),
      model: text(
        'NAME',
        'Model to ask; by default a small one that answers and that most cases can be asked with',
      ),
      'token-file': text('FILE', 'File with the token that the server requires'),
      priority: list('NUMBER', "Value of the parameter priority that the server's classes have"),
      'tenant-header': textOr('NAME', 'x-tenant', 'Header that names a tenant'),
      'limited-tenant': text('NAME', 'Tenant with a limit of its rate, which is then exceeded'),
    }),
    ...trustFlags,
    ...group('Cases', {
      only: list('NAME', 'Run only this group or case, e.g. http or http.infer-id'),
      unload: toggle('Also unload the model and load it again, which interrupts its clients'),
      strict: toggle('Exit with code 7 if any case fails, required or not'),
      timeout: durationOr('10s', 'Longest wait for one answer'),
      'max-answer': sizeOr('64MiB', 'Largest answer that is read'),
    }),
    ...group('Output', {
      json,
      junit: text('FILE', 'Write the results to this file as JUnit XML, one test case each'),
      quiet,
    }),
  },
  examples: [
    'conform http://127.0.0.1:8000 --grpc 127.0.0.1:8001',
    'conform http://127.0.0.1:8000 --only http --only errors --junit conform.xml',
    'conform https://models.example.com --model resnet50 --token-file token --json',
  ],
  notes: [
    'Works with any server of the Open Inference Protocol. Some cases send malformed and oversized requests: ' +
      'examine a server that may stop, not one that others depend on.',
    'Exit code 7: a required case failed.',
  ],
});

export type ConformArgs = ArgsOf<typeof usage>;
