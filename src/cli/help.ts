import type { Argument, Command, Help, HelpConfiguration, Option } from 'commander';
import { examplesOf } from './examples.ts';

/** Help as the parser lays it out, with examples, and with the flags that all commands have at the end: in a few lines, where they are not the topic. */
export const helpLayout: HelpConfiguration = {
  showGlobalOptions: true,
  minWidthToWrap: 24,
  // What a command takes is in its own help: here it would leave no room for what it does.
  subcommandTerm: (command) => command.name(),
  optionDescription: described,
  argumentDescription: described,
  formatHelp,
};

/** With its choices and its default, as in `Output format (text, json; default: text)`. */
function described(each: Option | Argument): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = each;
  const isText = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const standard = defaultValueDescription ?? (isText ? String(defaultValue) : undefined);
  const facts = [
    argChoices?.join(', '),
    'mandatory' in each && each.mandatory ? 'required' : undefined,
    standard === undefined ? undefined : `default: ${standard}`,
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`;
}

function formatHelp(command: Command, helper: Help): string {
  const width = helper.padWidth(command, helper);
  const item = (term: string, description: string): string =>
    helper.formatItem(term, width, description, helper);
  const section = (heading: string, items: string[]): string[] =>
    helper.formatItemList(heading, items, helper);
  const flags = (options: readonly Option[]): string[] =>
    options.map((option) => item(helper.optionTerm(option), helper.optionDescription(option)));

  const description = helper.boxWrap(helper.commandDescription(command), helper.helpWidth ?? 80);
  const isRoot = command.parent === null;
  const members = helper.groupItems(
    [...command.commands],
    helper.visibleCommands(command),
    (each) => (isRoot && each.helpGroup()) || 'Commands:',
  );
  return [
    `${helper.styleTitle('Usage:')} ${helper.commandUsage(command)}`,
    '',
    description,
    '',
    ...section(
      'Arguments:',
      helper
        .visibleArguments(command)
        .map((argument) => item(helper.argumentTerm(argument), helper.argumentDescription(argument))),
    ),
    ...[...members].flatMap(([heading, commands]) =>
      section(
        heading,
        commands.map((each) => item(helper.subcommandTerm(each), helper.subcommandDescription(each))),
      ),
    ),
    ...section(isRoot ? 'Global flags:' : 'Flags:', flags(helper.visibleOptions(command))),
    ...section(
      'Examples:',
      examplesOf(pathOf(command)).map((line) => `  ${line}`),
    ),
    ...(isRoot ? [] : globalFlags(command, helper)),
  ].join('\n');
}

/** By name alone: `voxform --help` says what they do. A command between has flags of its own. */
function globalFlags(command: Command, helper: Help): string[] {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const names = helper
    .visibleGlobalOptions(command)
    .filter((option) => option.long !== '--version' && root.options.includes(option))
    .map(({ short, long }) => short ?? long);
  const title = helper.styleTitle('Global flags:');
  return [title, `  ${names.join(', ')}`, '  Run voxform --help to see what they do.', ''];
}

/** The names of the commands that lead to one, without our own: `state list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${pathOf(parent)} ${command.name()}`.trim();
}
