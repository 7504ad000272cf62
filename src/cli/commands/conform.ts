import type { Argv } from 'yargs';
import { json, quiet, trustFlags } from '../common-options.js';
import { type ArgsOf, durationOr, group, list, required, sizeOr, text, textOr, toggle } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('url', required(text('http://HOST:PORT of the server; https:// for TLS')))
    .options({
      ...group('Server', {
        grpc: text('Address of its gRPC port; without it, cases of gRPC are skipped'),
        model: text(
          'Model to ask; by default a small one that answers and that most cases can be asked with',
        ),
        'token-file': text('File with the token that the server requires'),
        priority: list("Value of the parameter priority that the server's classes have"),
        'tenant-header': textOr('x-tenant', 'Header that names a tenant'),
        'limited-tenant': text('Tenant with a limit of its rate, which is then exceeded'),
      }),
      ...trustFlags,
      ...group('Cases', {
        only: list('Run only this group or case, e.g. http or http.infer-id'),
        unload: toggle('Also unload the model and load it again, which interrupts its clients'),
        strict: toggle('Exit with code 7 if any case fails, required or not'),
        timeout: durationOr('10s', 'Longest wait for one answer'),
        'max-answer': sizeOr('64MiB', 'Largest answer that is read'),
      }),
      ...group('Output', {
        json,
        junit: text('Write the results to this file as JUnit XML, one test case each'),
        quiet,
      }),
    })
    .example([
      ['$0 conform http://127.0.0.1:8000 --grpc 127.0.0.1:8001', ''],
      ['$0 conform http://127.0.0.1:8000 --only http --only errors --junit conform.xml', ''],
      ['$0 conform https://models.example.com --model resnet50 --token-file token --json', ''],
    ])
    .epilogue(
      [
        'Works with any server of the Open Inference Protocol. Some cases send malformed and oversized requests: ' +
          'examine a server that may stop, not one that others depend on.',
        'Exit code 7: a required case failed.',
      ].join('\n\n'),
    );

export type ConformArgs = ArgsOf<typeof builder>;

export const conform = {
  command: 'conform <url>',
  describe: 'Test a server against the Open Inference Protocol',
  builder,
};
