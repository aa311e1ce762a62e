import { describe, expect, it } from 'vitest';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import type { Misbehaviour } from './echo-platform.ts';
import { API_KEY, everySecret, leakIn, places } from './planted-secrets.ts';
import { SecretWorkspace } from './secret-workspace.ts';

const FORMATS = ['text', 'json', 'markdown', 'html', 'github'] as const;
const VOLUMES: readonly (readonly string[])[] = [[], ['-v'], ['--log-format', 'json', '-v']];

/** Runs a command and returns the positions of leaked secrets. */
async function leaksOf(workspace: SecretWorkspace, args: readonly string[], exit = 0): Promise<string[]> {
  const { code, stdout, stderr } = await workspace.run(args);
  expect(code, `voxform ${args.join(' ')}: ${stderr}`).toBe(exit);
  return [stdout, stderr].flatMap((text) => {
    const leak = leakIn(text);
    return leak === undefined ? [] : [`voxform ${args.join(' ')}: ${leak}`];
  });
}

/** Runs commands, and collects their leaks. */
function collecting(workspace: SecretWorkspace) {
  const leaks: string[] = [];
  const tell = async (...args: string[]) => void leaks.push(...(await leaksOf(workspace, args)));
  return { leaks, tell };
}

describe('search for secrets', () => {
  it.each([
    { reason: 'unchanged', of: (text: string) => `x ${text} y` },
    { reason: 'in JSON in JSON', of: (text: string) => JSON.stringify(JSON.stringify({ text })) },
    { reason: 'in a URL', of: (text: string) => encodeURIComponent(text) },
    { reason: 'in base64 of a longer text', of: (text: string) => Buffer.from(`ab${text}`).toString('base64') },
    { reason: 'in base64 of another text', of: (text: string) => Buffer.from(`a${text}c`).toString('base64url') },
    { reason: 'in hex', of: (text: string) => Buffer.from(text).toString('hex').toUpperCase() },
    { reason: 'wrapped', of: (text: string) => text.replace(/(.{9})/g, '$1\n    ') },
  ])('finds a secret $reason', ({ of }) => {
    for (const { text } of everySecret) expect(leakIn(of(text))).toBeDefined();
    expect(leakIn('nothing of it')).toBeUndefined();
  });
});

describe('redaction of the output', () => {
  it('covers any command, in any form, at any verbosity', async () => {
    await using workspace = await SecretWorkspace.open();
    const { leaks, tell } = collecting(workspace);
    await workspace.begin();
    for (const form of ['text', 'json', 'junit', 'github']) await tell('validate', '--output', form, '--secrets');
    for (const form of FORMATS) await tell('plan', '--output', form, '-v', '--out', `${form}.plan`);
    await tell('plan', '--log-format', 'json');
    await tell('apply', 'json.plan', '--auto-approve', '-v');
    expect(workspace.platform.emulator.world.agents.size).toBe(2);
    expect(workspace.platform.emulator.world.webhooks.size).toBe(1);
    await tell('plan', '-v');
    await tell('state', 'list', '--output', 'json');
    for (const address of ['Agent/a', 'Webhook/hook', 'PhoneNumber/line']) await tell('state', 'show', address);
    for (const form of ['text', 'markdown']) await tell('drift', '--output', form);
    // Otherwise the search of the platform's file would prove nothing.
    expect(leakIn(await workspace.platformKeeps(), [places.payload])).toBeDefined();
    expect([...leaks, ...(await workspace.leaksInFiles())]).toEqual([]);
  });

  it('covers drift and changes, in any form', { tags: ['long'] }, async () => {
    await using workspace = await SecretWorkspace.open({ few: true });
    const { leaks, tell } = collecting(workspace);
    await tell('apply', '--auto-approve');
    const [agent] = workspace.platform.emulator.world.agents.keys();
    const [hook] = workspace.platform.emulator.world.webhooks.keys();
    workspace.platform.emulator.dashboard.edit('agents', agent ?? '', { prompt_config: { prompt: 'moved' } });
    workspace.platform.emulator.dashboard.edit('webhooks', hook ?? '', { url: 'https://example.com/moved' });
    for (const form of FORMATS) leaks.push(...(await leaksOf(workspace, ['drift', '--output', form], 2)));
    for (const form of ['text', 'markdown']) await tell('plan', '--output', form, '-v');
    await tell('plan', '--no-refresh', '-v');
    for (const [name, text] of Object.entries(workspace.env)) {
      if (name !== 'API_KEY') workspace.env[name] = `${text}-again`;
    }
    await tell('plan', '-v', '--out', 'changed.plan', '--allow-replace', 'Webhook/hook');
    for (const form of FORMATS) {
      workspace.env.PROMPT = `${places.prompt.text}-${form}`;
      await tell('apply', '--output', form, '--auto-approve', '-v', '--allow-replace', 'Webhook/hook');
    }
    leaks.push(...(await leaksOf(workspace, ['import', 'Agent/other', agent ?? '', '-v'], 1)));
    await tell('import', 'Webhook/other', hook ?? '', '-v');
    workspace.write({
      'manifests/all.yaml': 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: other }\nspec: { name: x }\n',
    });
    await tell('plan', '-v', '--output', 'json', '--out', 'last.plan');
    await tell('apply', '-v', '--auto-approve', '--output', 'json', '--allow-large-change');
    // Otherwise the search of the platform's file would prove nothing.
    expect(leakIn(await workspace.platformKeeps(), [places.payload])).toBeDefined();
    expect([...leaks, ...(await workspace.leaksInFiles())]).toEqual([]);
  });

  it('covers a value that the manifest no longer declares as a secret', { tags: ['long'] }, async () => {
    await using workspace = await SecretWorkspace.open();
    await workspace.run(['apply', '--auto-approve']);
    workspace.write({
      'manifests/all.yaml': `apiVersion: voxform/v1
kind: Agent
metadata: { name: a }
spec: { name: plain, llm_config: { model: gpt, tools: [] }, prompt_config: { prompt: plain } }
---
apiVersion: voxform/v1
kind: Webhook
metadata: { name: hook, replace: allow }
spec: { url: "https://example.com", payload: { data: {} } }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: line }
spec: { number: "+4930123456", nickname: plain }
`,
    });
    const { leaks, tell } = collecting(workspace);
    for (const form of FORMATS) await tell('plan', '--output', form, '-v', '--out', `${form}.plan`);
    await tell('drift', '-v');
    await tell('plan', '--no-refresh');
    await tell('apply', '--auto-approve', '-v', '--output', 'json');
    await tell('plan', '-v');
    expect([...leaks, ...(await workspace.leaksInFiles())]).toEqual([]);
  });
});

const json = { 'content-type': 'application/json' };
const allOf = ({ method, path, authorization, body }: Parameters<Misbehaviour>[0]) =>
  `${method} ${path} Authorization: ${authorization} ${body} ${Buffer.from(authorization).toString('base64')} ${encodeURIComponent(body)}`;

/** Responses of a platform that repeats the request. */
const failures: readonly {
  readonly reason: string;
  readonly misbehave: (...exchange: Parameters<Misbehaviour>) => void;
  /** Breaks the connection. */
  readonly breaks?: true;
}[] = [
  {
    reason: 'a refusal that quotes the request',
    misbehave: (heard, response) =>
      response.writeHead(422, json).end(JSON.stringify({ message: allOf(heard), request: heard })),
  },
  {
    reason: 'a refusal that quotes a field',
    misbehave: (_heard, response) => {
      const sent = [places.llmKey, places.header, places.prompt, places.payload];
      const said = sent.map(({ text }) => `${text} is not valid`);
      response
        .writeHead(400, json)
        .end(JSON.stringify({ errors: { [places.header.text]: said, 'llm_config.api_key': said } }));
    },
  },
  {
    reason: 'a rejection that contains the key',
    misbehave: ({ authorization }, response) => {
      response.writeHead(401, { 'content-type': 'text/plain', 'x-request-id': authorization.slice(7) });
      response.end(`no such key: Authorization: ${authorization}`);
    },
  },
  {
    reason: 'an HTML page that contains the request',
    misbehave: (heard, response) => {
      response.writeHead(409, { 'content-type': 'text/html' });
      response.end(`<html><title>${allOf(heard).replaceAll('"', '&quot;')}</title><pre>${allOf(heard)}</pre></html>`);
    },
  },
  {
    reason: 'truncated JSON',
    misbehave: (heard, response) =>
      response.writeHead(200, json).end(`{"data": {"id": "1", "echo": ${JSON.stringify(allOf(heard))}`),
  },
  {
    reason: 'a string for a record',
    misbehave: (heard, response) =>
      response.writeHead(200, { 'content-type': heard.authorization.slice(0, 40) }).end(allOf(heard)),
  },
  {
    reason: 'a record without an id',
    misbehave: ({ body, authorization }, response) => {
      const data = { [authorization]: authorization, ...(JSON.parse(body) as object) };
      response.writeHead(201, json).end(JSON.stringify({ data }));
    },
  },
  {
    reason: 'a redirect with the request in its URL',
    misbehave: ({ authorization }, response) => {
      const location = `https://${encodeURIComponent(authorization)}@example.com/?${authorization}`;
      response.writeHead(307, { location }).end();
    },
  },
  {
    reason: 'a response cut in the middle',
    breaks: true,
    misbehave: (heard, response) => {
      response.writeHead(200, { ...json, 'content-length': '100000' });
      response.write(allOf(heard), () => response.destroy());
    },
  },
  {
    reason: 'bytes that are not HTTP',
    breaks: true,
    misbehave: (heard, response) =>
      response.socket?.end(`HTTP/1.1 200 OK\r\n${heard.authorization}\r\nContent-Length: x\r\n\r\n${allOf(heard)}`),
  },
];

describe('redaction of failures', () => {
  it.each(failures)('covers $reason', { tags: ['long'] }, async ({ misbehave, breaks }) => {
    await using workspace = await SecretWorkspace.open({ few: true });
    const { platform } = workspace;
    platform.misbehave = (heard, response) => {
      if (heard.method === 'GET') return undefined;
      misbehave(heard, response);
      return true;
    };
    const leaks = await leaksOf(workspace, ['apply', '--auto-approve', '-v'], 1);
    for (const address of ['Agent/a', 'Webhook/hook']) {
      await workspace.run(['state', 'resolve', address, '--not-created']);
    }
    leaks.push(
      ...(await leaksOf(workspace, ['apply', '--auto-approve', '--output', 'json', '--log-format', 'json'], 1)),
    );
    // A read that breaks off is retried with pauses, so this message is about a write.
    if (breaks !== true) {
      platform.misbehave = (heard, response) => {
        misbehave({ ...heard, body: heard.body || '{}' }, response);
        return true;
      };
      leaks.push(...(await leaksOf(workspace, ['import', 'Agent/b', '01J', '-v'], 1)));
    }
    expect([...leaks, ...(await workspace.leaksInFiles())]).toEqual([]);
  });

  it('covers our own errors, with any message', { tags: ['long'] }, async () => {
    await using workspace = await SecretWorkspace.open();
    await workspace.begin();
    const quoting = everySecret.map(({ text }) => text).join(' and the next secret ');
    for (const volume of VOLUMES) {
      // The last use of the clock is after the secrets were read.
      let calls = 0;
      const counted = await workspace.run(['plan', ...volume], {
        now: () => {
          calls++;
          return new Date();
        },
      });
      expect(counted.code).toBe(0);
      let left = calls;
      const { code, stdout, stderr } = await workspace.run(['plan', ...volume], {
        now: () => {
          if (--left !== 0) return new Date();
          throw new TypeError(`cannot read ${quoting}`, { cause: new Error(JSON.stringify({ quoting })) });
        },
      });
      expect(code).toBe(1);
      expect(stderr).toContain('TypeError');
      expect(leakIn(stdout + stderr)).toBeUndefined();
    }
  });
});

describe('external key', () => {
  it.each([
    {
      reason: 'VOXFORM_API_KEY over the project',
      env: { VOXFORM_API_KEY: API_KEY.text },
      key: '{ $secret: NOT_THERE }',
    },
    { reason: '$env', env: { SOME_KEY: API_KEY.text }, key: '{ $env: SOME_KEY }' },
    { reason: 'plain text, which is refused', env: {}, key: JSON.stringify(API_KEY.text) },
    {
      reason: 'the default of $env, which is refused',
      env: {},
      key: `{ $env: X, default: ${JSON.stringify(API_KEY.text)} }`,
    },
    { reason: 'a list, which is refused', env: {}, key: `[${JSON.stringify(API_KEY.text)}]` },
  ])('is never printed: $reason', async ({ reason, env, key }) => {
    const isTaken = !reason.endsWith('refused');
    await using workspace = await SecretWorkspace.open();
    delete workspace.env.API_KEY;
    Object.assign(workspace.env, env);
    workspace.write({
      'voxform.yaml': `version: 1\nworkspaces:\n  test: { base_url: ${workspace.platform.url}, workspace_id: ${workspace.platform.emulator.workspaceId}, api_key: ${key} }\n`,
      'manifests/all.yaml': 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: { name: a }\n',
    });
    workspace.platform.misbehave = ({ authorization }, response) => {
      response.writeHead(422, json).end(JSON.stringify({ message: `you are ${authorization}` }));
      return true;
    };
    for (const [args, code] of [
      [['plan', '-v'], isTaken ? 0 : 1],
      [['apply', '--auto-approve', '--output', 'json', '-v'], 1],
      [['validate', '--output', 'json'], isTaken ? 0 : 1],
    ] as const) {
      expect(await leaksOf(workspace, args, code)).toEqual([]);
    }
    expect((await workspace.leaksInFiles()).filter((leak) => !leak.startsWith('voxform.yaml'))).toEqual([]);
  });
});

describe('secret too short to be redacted everywhere', () => {
  it('is still never printed, not even in messages of the platform', async () => {
    await using workspace = await SecretWorkspace.open();
    workspace.env.PIN = '7q1z';
    workspace.write({
      'manifests/all.yaml':
        'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: { name: a, llm_config: { api_key: { $secret: PIN } } }\n',
    });
    workspace.platform.misbehave = ({ method, body }, response) => {
      if (method !== 'POST') return undefined;
      response.writeHead(422, json).end(JSON.stringify({ message: `not good: ${body}` }));
      return true;
    };
    const { stdout, stderr } = await workspace.run(['apply', '--auto-approve', '-v']);
    expect(stdout).toContain('not good');
    expect(stdout + stderr).not.toContain('7q1z');
  });
});

describe('password in an address', () => {
  it.each([
    { reason: 'of the project', url: `https://someone:${places.llmKey.core}@example.com`, env: {} },
    {
      reason: 'of VOXFORM_BASE_URL',
      url: 'https://example.com',
      env: { VOXFORM_BASE_URL: `https://someone:${places.llmKey.core}@example.com` },
    },
    {
      reason: 'from $env',
      url: '{ $env: ADDRESS }',
      env: { ADDRESS: `https://${places.llmKey.core}@example.com/x y` },
    },
    {
      reason: 'with another mistake',
      url: 'https://example.com',
      env: { VOXFORM_BASE_URL: `ftp://someone:${places.llmKey.core}@example.com/` },
    },
  ])('is not repeated: $reason', async ({ url, env }) => {
    await using workspace = await SecretWorkspace.open();
    Object.assign(workspace.env, env);
    workspace.write({
      'voxform.yaml': `version: 1\nworkspaces: { test: { base_url: ${JSON.stringify(url).replace(/^"(\{.*)"$/, '$1')}, workspace_id: x, api_key: { $secret: API_KEY } } }\n`,
    });
    for (const args of [['validate'], ['plan', '-v'], ['validate', '--output', 'json']]) {
      expect(await leaksOf(workspace, args, 1)).toEqual([]);
    }
  });
});

describe('name of a secret', () => {
  it('is not a path, even in a tampered saved plan', async () => {
    await using workspace = await SecretWorkspace.open({ few: true });
    workspace.write({ 'outside-of-secrets': 'not meant to be sent' });
    await workspace.run(['plan', '--out', 'a.plan']);
    const plan = JSON.parse(workspace.written().get('a.plan') ?? '') as PlanDocument;
    const secrets = { ...plan.secrets, '../outside-of-secrets': 'x' };
    workspace.write({ 'a.plan': JSON.stringify(withDigest({ ...plan, secrets })) });
    const { code, stderr } = await workspace.run(['apply', 'a.plan', '--auto-approve']);
    expect(code).toBe(1);
    expect(stderr).toContain('is not a valid secret name');
  });

  it.each(['constructor', 'toString', '__proto__'])('is not found if it is unset: %s', async (name) => {
    await using workspace = await SecretWorkspace.open({ few: true });
    for (const form of ['$secret', '$env']) {
      workspace.write({
        'manifests/all.yaml': `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: { name: { ${form}: ${name} } }\n`,
      });
      const { code, stderr } = await workspace.run(['plan']);
      expect(code).toBe(1);
      expect(stderr).toContain(`${name} is not set`);
    }
  });
});
