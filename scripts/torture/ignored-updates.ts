import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { settles, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent } from './manifests.ts';

const GROUP = 'ignored updates';
const FIELD = 'prompt_config.prompt';

export const ignoredUpdateCases: readonly Case[] = [
  {
    group: GROUP,
    name: 'the response shows the old value',
    short: true,
    run: (bench) => ignored(bench, 'kept'),
  },
  {
    group: GROUP,
    name: 'a kill during the read after an update',
    short: true,
    run: (bench) => killed(bench, []),
  },
  { group: GROUP, name: 'a kill during the read after an ignored update', run: (bench) => killed(bench, [FIELD]) },
  { group: GROUP, name: 'the response shows the new value', run: (bench) => ignored(bench, 'sent') },
];

/** The platform answers 200 and changes nothing. Every command must report this, and an apply must not repeat the update forever. */
async function ignored(bench: Bench, answer: 'kept' | 'sent'): Promise<void> {
  const behaviour = { ignoredByPut: { fields: [FIELD], answer } };
  await using lab = await Lab.applied(bench, { manifests: agent('a', 'Be kind.'), behaviour });
  lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
  succeeded(await lab.run(...APPLY));
  // After a wrong response, the next run sees drift once and checks its repair with a read.
  if (answer === 'sent') succeeded(await lab.run(...APPLY));
  for (const command of ['plan', 'drift', 'apply']) {
    const result =
      command === 'apply'
        ? await settles(lab, () => lab.run(...APPLY))
        : await writesNothing(lab, () => lab.run(command));
    succeeded(result);
    const output = unwrapped(result.stdout);
    assert.match(output, /The platform ignored the last update of prompt_config\.prompt and kept "Be kind\."/);
    assert.doesNotMatch(output, /in sync|as applied/);
  }
  lab.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
  succeeded(await lab.run(...APPLY, '--retry-ignored'));
  succeeded(await lab.run('plan'), /1 resource is in sync/);
}

/** The outcome of the update is not in the state. The next plan must find out whether the update was applied, and resend it only if not. */
async function killed(bench: Bench, fields: readonly string[]): Promise<void> {
  // The response of an update hides fields, so that the run reads the record after the update.
  const behaviour = { ignoredByPut: { fields: [...fields] }, shows: { update: [] } };
  for (const point of ['after send', 'when the answer begins', 'after answer']) {
    await using lab = await Lab.applied(bench, { manifests: agent('a', 'Be kind.'), behaviour });
    lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
    const result = await lab.runAndDie(`${point}, in the read after an update`, 1, ...APPLY);
    assert.equal(result.signal, 'SIGKILL', `the run was not killed: ${result.stdout}${result.stderr}`);
    await lab.check(`after a kill ${point}`);
    const writes = lab.writes();
    succeeded(await lab.run(...APPLY));
    assert.equal(lab.writes() - writes, fields.length, 'an applied update is not sent again, an ignored update once');
    const planned = await settles(lab, () => lab.run(...APPLY));
    succeeded(planned, fields.length > 0 ? /The platform ignored the last update of prompt_config\.prompt/ : undefined);
    await lab.check('at the end');
  }
}
