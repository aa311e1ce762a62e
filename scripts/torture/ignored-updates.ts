import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { settles, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { agent } from './manifests.ts';

const GROUP = 'ignored updates';
const APPLY = ['apply', '--auto-approve'];
const FIELD = 'prompt_config.prompt';

export const ignoredUpdateCases: readonly Case[] = [
  {
    group: GROUP,
    name: 'an answer that shows what it kept',
    short: true,
    run: (bench) => ignored(bench, 'kept'),
  },
  {
    group: GROUP,
    name: 'a kill while the read after an update is under way',
    short: true,
    run: (bench) => killed(bench, []),
  },
  { group: GROUP, name: 'the same, of an update that is ignored', run: (bench) => killed(bench, [FIELD]) },
  { group: GROUP, name: 'an answer as if it were done', run: (bench) => ignored(bench, 'sent') },
];

/** The platform answers 200 and changes nothing: that is said in every command, and ends in no loop. */
async function ignored(bench: Bench, answer: 'kept' | 'sent'): Promise<void> {
  const behaviour = { ignoredByPut: { fields: [FIELD], answer } };
  await using lab = await Lab.open(bench, { manifests: agent('a', 'Be kind.'), behaviour });
  succeeded(await lab.run(...APPLY));
  lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
  succeeded(await lab.run(...APPLY));
  // A lie shows as drift once, and its repair is looked at.
  if (answer === 'sent') succeeded(await lab.run(...APPLY));
  for (const command of ['plan', 'drift', 'apply']) {
    const ended =
      command === 'apply'
        ? await settles(lab, () => lab.run(...APPLY))
        : await writesNothing(lab, () => lab.run(command));
    succeeded(ended);
    const said = unwrapped(ended.stdout);
    assert.match(said, /The platform ignored the last update of prompt_config\.prompt and kept "Be kind\."/);
    assert.doesNotMatch(said, /in sync|as applied/);
  }
  lab.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
  succeeded(await lab.run(...APPLY, '--retry-ignored'));
  succeeded(await lab.run('plan'), /1 resource is in sync/);
}

/** Its outcome is not in the state: the next plan sees by itself what became of the update, and sends it once more or not. */
async function killed(bench: Bench, fields: readonly string[]): Promise<void> {
  // The answer hides what reads show, so that the record is read after the update.
  const behaviour = { ignoredByPut: { fields: [...fields] }, shows: { update: [] } };
  for (const place of ['after send', 'when the answer begins', 'after answer']) {
    await using lab = await Lab.open(bench, { manifests: agent('a', 'Be kind.'), behaviour });
    succeeded(await lab.run(...APPLY));
    lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
    const ended = await lab.runAndDie(`${place}, a read of what became of it`, 1, ...APPLY);
    assert.equal(ended.signal, 'SIGKILL', `it was not killed: ${ended.stdout}${ended.stderr}`);
    await lab.check(`after a kill ${place}`);
    const writes = lab.writes();
    succeeded(await lab.run(...APPLY));
    assert.equal(lab.writes() - writes, fields.length, 'what is in sync is not sent again, what was ignored once');
    const planned = await settles(lab, () => lab.run(...APPLY));
    succeeded(planned, fields.length > 0 ? /The platform ignored the last update of prompt_config\.prompt/ : undefined);
    await lab.check('at the end');
  }
}
