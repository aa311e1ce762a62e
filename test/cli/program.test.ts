import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const perform = async () => undefined;
const whole = await createProgram(perform);
const names = whole.commands.map((command) => command.name());

it.each([
  ['plan', ['plan'], 'a word'],
  ['plan', ['-w', 'test', 'plan', '-help'], 'a word among others'],
  ['export', ['completion', 'bash', '--complete', '=export', '=--'], 'a word to complete'],
  ['export', ['completion', 'bash', '--complete', "='export'", '=--'], 'a word to complete, in quotes'],
])('createProgram defines %s for %j: %s', async (name, words) => {
  const { commands } = await createProgram(perform, { words });
  const defined = commands.filter((command) => command.description() !== '').map((each) => each.name());
  expect(defined).toEqual(names.filter((each) => each === name || words.includes(each)));
});

it('createProgram lists the same commands whether or not they are defined', async () => {
  const none = await createProgram(perform, { words: [] });
  expect(none.helpInformation()).toBe(whole.helpInformation());
  for (const [index, command] of whole.commands.entries()) {
    const { commands } = await createProgram(perform, { words: [command.name()] });
    expect(commands[index]?.helpInformation()).toBe(command.helpInformation());
  }
});
