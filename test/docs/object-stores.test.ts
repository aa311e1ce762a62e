import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { S3_ID, S3_SECRET, S3Server } from '../state/backends/s3/s3-server.ts';
import { step } from '../step.ts';
import { Voices } from './voices.ts';

/** @module-tag long */

const missing = ['age-keygen', 'pass', 'gpg'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
const title = `docs/object-stores.md shows the actual output${missing.length > 0 ? ` (NOT RUN: ${missing} IS MISSING)` : ''}`;

afterEach(() => vi.unstubAllEnvs());

it.skipIf(missing.length > 0)(title, async () => {
  await using server = await S3Server.start();
  server.buckets.set('acme-voxform', new Map());
  await using voices = await Voices.open();
  const { root } = voices.folder;
  const gnupg = path.join(root, '.gnupg');
  await mkdir(gnupg, { mode: 0o700 });
  const env = { PATH: process.env.PATH ?? '', HOME: root, GNUPGHOME: gnupg };
  // The SDK, and the programs that voxform starts, read these variables.
  const own = { ...env, AWS_ACCESS_KEY_ID: S3_ID, AWS_SECRET_ACCESS_KEY: S3_SECRET };
  for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value);
  const run = (program: string, ...args: readonly string[]) => execFileSync(program, args, { env, cwd: root });
  try {
    run('gpg', '--batch', '--passphrase', '', '--quick-generate-key', 'team@example.com', 'default', 'default');
    run('pass', 'init', 'team@example.com');
    const page = voices.page('docs/object-stores.md');
    const settle = (text: string, project: string) =>
      voices.folder.write('voxform.yaml', project.replace('state: { backend: local }\n', text));
    const project = await voices.read('voxform.yaml');
    const withPrompt = () =>
      [...server.objects('acme-voxform').values()].filter(({ bytes }) => bytes.toString().includes('prompt'));
    page.stand('  region: eu-central-1\n', `  region: eu-central-1\n  endpoint: "${server.url}"\n  path_style: true\n`);

    const makeKey = ['age-keygen', ...page.take('age-keygen')].join(' ');
    run('bash', '-o', 'pipefail', '-c', makeKey);
    const recipient = run('bash', '-c', 'pass show voices/STATE_IDENTITY | age-keygen -y').toString().trim();
    page.stand('age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p', recipient);
    await settle(page.block('yaml'), project);
    await page.next('voxform state move');
    expect(withPrompt()).toEqual([]);
    server.requests.length = 0;
    await page.next('voxform plan');
    // Read permissions are sufficient.
    expect(new Set(server.requests.map(({ method }) => method))).toEqual(new Set(['GET']));

    await voices.run('state', 'unseal');
    expect(withPrompt()).not.toEqual([]);
    await page.next('voxform state seal');
    page.end();
    expect(withPrompt()).toEqual([]);
    expect((await voices.run('plan')).stdout).toContain('No changes.');
    await step('a damaged head is repaired as in docs/state.md', async () => {
      const objects = server.objects('acme-voxform');
      const stored = (end: string) => {
        for (const [name, object] of objects) if (name.endsWith(end)) return [name, object] as const;
        throw new Error(`no object ends in ${end}`);
      };
      const [name, head] = stored('/head.json');
      const [, document] = stored('.state');
      objects.set(name, { ...head, bytes: Buffer.from('{ "version": 1'), etag: 'damaged' });
      await voices.folder.write('document.state', document.bytes.toString());
      for (const args of [['plan'], ['state', 'push', '--force', 'document.state']]) await voices.fails(...args);
      objects.set(name, head);
      expect((await voices.run('plan')).stdout).toContain('No changes.');
      objects.delete(name);
      await voices.run('state', 'push', 'document.state');
      expect((await voices.run('plan')).stdout).toContain('No changes.');
      expect(withPrompt()).toEqual([]);
    });
  } finally {
    spawnSync('gpgconf', ['--kill', 'all'], { env });
  }
});
