import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { command } from '../trust/in-process.ts';
import { API_KEY, agentManifest, testWorkspace } from './workspace.ts';

const AGENTS = Array.from({ length: 6 }, (_, index) => agentManifest(`agent-${index}`)).join('---\n');

/** Lets the test hold requests at the emulator, and wait for the first one. */
function turnstile(method: string) {
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    arrived: arrived.promise,
    open: () => opened.resolve(),
    async onRequest(request: { readonly method: string }): Promise<undefined> {
      if (request.method !== method) return undefined;
      arrived.resolve();
      await opened.promise;
      return undefined;
    },
  };
}

describe('an interrupted plan', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ] as const)('ends at once after %s, with %i', async (signal, expected) => {
    const gate = turnstile('GET');
    await using workspace = await testWorkspace(
      {
        'manifests/n.yaml':
          'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: n }\nspec: { number: "+12025550120" }\n',
      },
      { onRequest: gate.onRequest },
    );
    const { child, ended } = workspace.start(['plan']);
    await gate.arrived;
    child.kill(signal);
    const { code, stdout, stderr } = await ended;
    gate.open();
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toContain('interrupted');
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe('an interrupted apply', () => {
  it('finishes its requests, starts no others, saves the state, and continues in the next run', async () => {
    const gate = turnstile('POST');
    await using workspace = await testWorkspace({ 'manifests/a.yaml': AGENTS }, { onRequest: gate.onRequest });
    // In this process, because another process could not observe that the signal has arrived.
    const interrupts = new Interrupts(() => undefined);
    const ended = command(['apply', '--auto-approve', '--concurrency', '2'], {
      cwd: workspace.folder.root,
      env: { VOXFORM_API_KEY: API_KEY },
      interrupts,
    });
    await gate.arrived;
    interrupts.raise('SIGINT');
    gate.open();
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toContain('Interrupted by SIGINT');
    const created = workspace.writes();
    expect([1, 2]).toContain(created);

    const { stdout: state } = await workspace.run('state', 'list', '--output', 'json');
    expect((JSON.parse(state) as unknown[]).length).toBe(created);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.writes()).toBe(6);
  });

  it('stops at once after a second signal, with the requests in the journal', async () => {
    const gate = turnstile('POST');
    await using workspace = await testWorkspace({ 'manifests/a.yaml': AGENTS }, { onRequest: gate.onRequest });
    const { child, ended } = workspace.start(['apply', '--auto-approve', '--concurrency', '2']);
    await gate.arrived;
    child.kill('SIGINT');
    child.kill('SIGTERM');
    const { code } = await ended;
    expect([130, 143]).toContain(code);
    gate.open();
    const { stdout } = await workspace.run('state', 'list', '--output', 'json');
    const unknown = (JSON.parse(stdout) as { status: string }[]).filter(({ status }) => status === 'unknown');
    expect(unknown.length).toBeGreaterThanOrEqual(1);
  });
});

describe('an interrupted command without requests', () => {
  it('is a validate that ends between two manifests', async () => {
    const many = Array.from({ length: 500 }, (_, index) => agentManifest(`agent-${index}`)).join('---\n');
    await using workspace = await testWorkspace({ 'manifests/a.yaml': many, 'manifests/b.yaml': AGENTS });
    const interrupts = new Interrupts(() => undefined);
    interrupts.raise('SIGINT');
    const { code, stdout, stderr } = await command(['validate'], {
      cwd: workspace.folder.root,
      interrupts,
    });
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toContain('interrupted');
  });

  it('is an export that ends while it writes, and leaves no files', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': AGENTS });
    await workspace.run('apply', '--auto-approve');
    const { code, stderr } = await command(['export', '--out', 'exported', '--verbose'], {
      cwd: workspace.folder.root,
      env: { VOXFORM_API_KEY: API_KEY },
      // The export makes this request last.
      until: /GET \/api\/v1\/knowledge-bases\S* 200/,
    });
    expect(code).toBe(143);
    expect(stderr).toContain('interrupted');
    expect(readdirSync(workspace.folder.root).filter((name) => name.startsWith('exported'))).toEqual([]);
  });
});
