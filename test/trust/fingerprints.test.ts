import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SecretWorkspace } from './secret-workspace.ts';

const { scrypt } = crypto;

/** Records the input of every slow hash that the process computes. */
function countHashes(): { readonly hashed: string[]; readonly salts: Set<string> } {
  const counted = { hashed: [] as string[], salts: new Set<string>() };
  const counting: typeof scrypt = (...args: readonly unknown[]) => {
    counted.hashed.push(String(args[0]));
    counted.salts.add(String(args[1]));
    Reflect.apply(scrypt, crypto, args);
  };
  crypto.scrypt = counting;
  syncBuiltinESMExports();
  return counted;
}

afterEach(() => {
  crypto.scrypt = scrypt;
  syncBuiltinESMExports();
});

/** Six agents with two keys, one of which is also in the tools. */
const AGENTS = Array.from(
  { length: 6 },
  (_, n) => `apiVersion: voxform/v1
kind: Agent
metadata: { name: a${n} }
spec:
  name: a
  llm_config: { api_key: { $secret: ${n % 2 === 0 ? 'LLM_KEY' : 'HEADER'} }, tools: [{ token: { $secret: LLM_KEY } }] }
`,
).join('---\n');

async function withAgents(): Promise<SecretWorkspace> {
  const workspace = await SecretWorkspace.open();
  workspace.write({ 'manifests/all.yaml': AGENTS });
  return workspace;
}

function stateOf(workspace: SecretWorkspace): { salt: string; resources: Record<string, unknown> } {
  const text = readFileSync(path.join(workspace.root, '.voxform/test.state.json'), 'utf8');
  return JSON.parse(text) as { salt: string; resources: Record<string, unknown> };
}

describe('fingerprint', () => {
  it('is computed once for each distinct secret, with the salt of the state', async () => {
    await using workspace = await withAgents();
    const { hashed, salts } = countHashes();
    const { code, stderr } = await workspace.run(['apply', '--auto-approve']);
    expect(code, stderr).toBe(0);
    // The platform's value of a secret field is hashed too, unless it is the secret itself.
    expect(hashed.filter((text) => text === workspace.env.LLM_KEY)).toHaveLength(1);
    expect(hashed.filter((text) => text === workspace.env.HEADER)).toHaveLength(1);
    expect(new Set(hashed).size).toBe(hashed.length);
    expect([...salts]).toEqual([stateOf(workspace).salt]);
  });

  it('differs in another state', async () => {
    await using one = await withAgents();
    await using other = await withAgents();
    await one.run(['apply', '--auto-approve']);
    await other.run(['apply', '--auto-approve']);
    const found = [one, other].map((workspace) => [
      ...new Set(JSON.stringify(stateOf(workspace).resources).match(/"\$fingerprint":"[^"]+"/g)),
    ]);
    expect(found[0]?.length).toBeGreaterThan(1);
    expect(found[0]?.filter((fingerprint) => found[1]?.includes(fingerprint))).toEqual([]);
  });
});

describe('secret', () => {
  it('causes no change while it stays, and is reported and sent once when it changes', async () => {
    await using workspace = await withAgents();
    await workspace.run(['apply', '--auto-approve']);
    expect((await workspace.run(['plan', '--detailed-exitcode'])).code).toBe(0);
    workspace.env.HEADER = 'another-key-altogether';
    const { code, stdout } = await workspace.run(['plan', '--detailed-exitcode', '--full']);
    expect(code).toBe(2);
    expect(stdout.match(/llm_config\.api_key: \(secret #1\) -> \(secret #2\)/g)).toHaveLength(3);
    expect((await workspace.run(['apply', '--auto-approve'])).code).toBe(0);
    expect((await workspace.run(['plan', '--detailed-exitcode'])).code).toBe(0);
  });

  it('invalidates a saved plan when it changes', async () => {
    await using workspace = await withAgents();
    await workspace.run(['plan', '--out', 'a.plan']);
    workspace.env.HEADER = 'another-key-altogether';
    const { code, stderr } = await workspace.run(['apply', 'a.plan', '--auto-approve']);
    expect(code).toBe(1);
    expect(stderr).toContain('changed since the plan was made: HEADER');
    expect(workspace.platform.emulator.world.agents.size).toBe(0);
  });
});
