import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { run } from '../../src/cli/run.ts';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

/** Runs a command on a terminal at which a person gives these answers, one to each question. */
async function answering(workspace: TestWorkspace, args: readonly string[], answers: readonly string[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const interrupts = new Interrupts(() => undefined);
  const remaining = [...answers];
  const texts = { out: '', asked: '' };
  const stdout = new Writable({
    write(chunk, _, done) {
      texts.out += String(chunk);
      done();
    },
  });
  const stderr = Object.assign(
    new Writable({
      write(chunk, _, done) {
        texts.asked += String(chunk);
        if (/(\[q\]uit|to \w+): $/.test(String(chunk))) {
          const answer = remaining.shift() ?? 'quit';
          if (answer === 'Ctrl-C') interrupts.raise('SIGINT');
          else stdin.write(`${answer}\n`);
        }
        done();
      },
    }),
    { isTTY: true },
  );
  const code = await run({
    args: ['--no-color', ...args],
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY, CI: '1' },
    stdin: () => stdin,
    stdout,
    stderr,
    interrupts,
    now: () => new Date('2030-01-01T00:00:00Z'),
  });
  const taken = JSON.parse(texts.out.includes('{') ? texts.out.slice(texts.out.indexOf('{')) : '{"resources":[]}') as {
    resources: readonly { readonly address: string; readonly taken: string | null }[];
  };
  return {
    code,
    remaining,
    out: texts.out,
    questions: texts.asked,
    asked: texts.asked.replaceAll(/\s+/g, ' '),
    taken: Object.fromEntries(taken.resources.map(({ address, taken: id }) => [address, id])),
  };
}

const FILES = {
  'manifests/a.yaml': ['a', 'b', 'c'].map((name) => agentManifest(name)).join('---\n'),
};

/** Creates agents that match the manifests, `a` and `c` exactly, `b` except for its prompt. Each has a call. */
async function createAgents({ emulator }: TestWorkspace): Promise<Record<'a' | 'b' | 'c', string>> {
  const make = async (name: string, prompt: string): Promise<string> => {
    const answer = await fetch(`${emulator.url}/api/v1/agents`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify({ name, prompt_config: { prompt } }),
    });
    const { data } = (await answer.json()) as { data: { id: string } };
    emulator.dashboard.recordCall({ agent_id: data.id });
    return data.id;
  };
  return { a: await make('a', 'Be kind.'), b: await make('b', 'Be kind.'), c: await make('c', 'Be kind.') };
}

describe('recover at a terminal', () => {
  it('keeps the answers from before Ctrl-C, and asks for the others in the next run', async () => {
    await using workspace = await testWorkspace(FILES);
    const ids = await createAgents(workspace);
    const args = ['recover', '--output', 'json'];
    const first = await answering(workspace, args, ['yes', 'no', 'Ctrl-C']);
    expect(first).toMatchObject({ code: 130, taken: { 'Agent/a': ids.a, 'Agent/b': null, 'Agent/c': null } });
    expect(first.asked).toContain('1 answer kept; run voxform recover again for the rest');
    const second = await answering(workspace, args, ['yes', 'yes']);
    expect(second).toMatchObject({ code: 0, remaining: [], taken: { 'Agent/b': ids.b, 'Agent/c': ids.c } });
  });

  it('lists undecided resources with their candidates, apart from unresolved ones', async () => {
    await using workspace = await testWorkspace({
      ...FILES,
      'manifests/lost.yaml': agentManifest('lost', 'Be gone.'),
    });
    const ids = await createAgents(workspace);
    const { out, questions } = await answering(workspace, ['recover'], ['yes', 'no', 'Ctrl-C']);
    expect(out).toMatch(
      new RegExp(
        `\nUndecided \\(1\\):\nADDRESS +CANDIDATES\nAgent/c +${ids.c}\nRun recover again, or voxform import ADDRESS ID\\.`,
      ),
    );
    expect(out).toMatch(/Unresolved:\n {2}- Agent\/b, Agent\/lost: if you find one/);
    for (const line of questions.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it.each([
    [['yes', 'no', 'yes'], ['a', 'c'], 0],
    [['no', 'all'], ['b', 'c'], 0],
    [['yes', 'quit'], ['a'], 0],
    [['y', 'Yes ', ''], ['a', 'b'], 0],
    [['n', 'a'], ['b', 'c'], 0],
    [['y', 'q'], ['a'], 0],
    [['yea', 'nope', 'x'], [], 0],
  ])('asks for each record, and %j imports %j', async (answers, names, unused) => {
    await using workspace = await testWorkspace(FILES);
    const ids = await createAgents(workspace);
    const { code, asked, taken, remaining } = await answering(workspace, ['recover', '--output', 'json'], answers);
    expect(code).toBe(2);
    expect(asked).toContain(
      `Agent/a: is it ${ids.a}? all shown fields match: name, prompt_config.prompt; it had a call at`,
    );
    expect(remaining).toHaveLength(unused);
    expect(Object.keys(taken).filter((address) => taken[address] !== null)).toEqual(
      names.map((name) => `Agent/${name}`),
    );
    const state = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as {
      id: string;
    }[];
    expect(state.map(({ id }) => id)).toEqual(names.map((name) => ids[name as 'a']));
  });

  it('asks once for all certain records with --auto', async () => {
    await using workspace = await testWorkspace(FILES);
    await createAgents(workspace);
    const refused = await answering(workspace, ['recover', '--auto', '--output', 'json'], ['y']);
    expect(Object.values(refused.taken)).toEqual([null, null, null]);
    const { asked, taken } = await answering(workspace, ['recover', '--auto', '--output', 'json'], ['yes']);
    expect(asked).toContain('Import 3 records?');
    expect(Object.values(taken)).not.toContain(null);
  });
});
