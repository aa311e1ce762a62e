import { expect, it } from 'vitest';
import { RunningWatch } from '../operator/running-watch.ts';
import { listenHttp } from '../platform/listen.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';

it('watch refuses invalid flags before it watches anything', async () => {
  await using folder = await temporaryFolder();
  const cases: readonly (readonly [args: readonly string[], code: number, message: string])[] = [
    [['--mode', 'apply'], 64, '--mode apply needs --auto-approve'],
    [['--listen', 'here'], 64, '--listen: "here" is not HOST:PORT'],
    [['--interval', '0'], 64, '--interval must be more than 0'],
    [['--ref', 'main'], 64, '--ref, --path and --allow-dir need --git'],
    [['--git', '--upload-pack=touch x'], 64, '--git: the value is not a repository address'],
    [['--git', 'https://x.example/y', '--ref', '-x'], 64, '--ref: "-x" is not a valid branch or tag name'],
    [[], 1, 'no voxform.yaml'],
  ];
  const ended = await Promise.all(cases.map(([args]) => command(['watch', ...args], { cwd: folder.root })));
  for (const [index, [args, code, message]] of cases.entries()) {
    expect(ended[index], args.join(' ')).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  }
});

it('watch reuses the connections of the previous run', async () => {
  const ports: (number | undefined)[] = [];
  const severalRuns = Promise.withResolvers<void>();
  const { url } = await listenHttp((_request, response, count) => {
    ports.push(response.socket?.remotePort);
    if (count === 5) severalRuns.resolve();
    response.setHeader('content-type', 'application/json').end('{"data":[],"meta":{}}');
  });
  await using folder = await temporaryFolder({
    'manifests/main.yaml':
      'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: main }\nspec: { number: "+15550100" }\n',
  });
  const watch = new RunningWatch(['--interval', '0.001s'], {
    cwd: folder.root,
    env: { VOXFORM_BASE_URL: url, VOXFORM_WORKSPACE_ID: '01JWORKSPACE', VOXFORM_API_KEY: 'key-of-watch' },
  });
  await severalRuns.promise;
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
  expect(new Set(ports).size).toBe(1);
});
