import { Argument, InvalidArgumentError } from 'commander';
import type { GroupBy } from '../../output/graph/grouping.ts';
import type { CommandTable } from '../context.ts';
import {
  checkedDateOrTime,
  collectText,
  kindsInCalls,
  outputOption,
  parseDate,
  parsePositiveInteger,
  parseSeconds,
  withPlatform,
} from '../flags.ts';

/** Read-only commands. */
export const inspectCommands = {
  workspace: {
    summary: 'List workspaces',
    define: (command, perform) =>
      command
        .description('List the workspaces of the project.')
        .command('list')
        .description('List the workspaces of the project and mark the selected one. Needs no API key.')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await import('../actions/workspace.ts')).listWorkspaces)),
  },
  get: {
    summary: 'Read records from the platform',
    define: async (command, perform) => {
      const type = new Argument('<type>');
      withPlatform(command)
        .description('Read records from the platform. Long lists are printed page by page.')
        .addArgument(type)
        .argument('[id]', 'One record, by id or address')
        .argument('[version]', 'For versions: a number, or latest')
        .addOption(outputOption(['table', 'json', 'jsonl', 'yaml', 'csv'], 'table'))
        .option('--limit <n>', 'Stop after this many records', parsePositiveInteger)
        .option('--utc', 'Print times in UTC in the table (default: local time)')
        .option('--from <date>', 'Calls from this date or time on, in UTC', checkedDateOrTime)
        .option('--to <date>', 'Calls up to this date or time, in UTC', checkedDateOrTime)
        .option('--agent <agent>', 'Calls of this agent, by id or address')
        .option('--outcome <outcome>', 'Calls with this session_outcome')
        .option(
          '--where <condition>',
          'Calls that meet a condition on a field (=, !=, >, >=, <, <=), e.g. cost>=0.5 (repeatable)',
          collectText,
        )
        .option(
          '--expires-within <duration>',
          'API keys that expire within this time, e.g. 30d; exit with 2 if there are any',
          parseSeconds,
        )
        .action(perform(async () => (await import('../actions/get.ts')).get));
      const [{ kinds }, { recordTypes }] = await Promise.all([
        import('../../kinds/index.ts'),
        import('../../runs/record-types.ts'),
      ]);
      type.description = `One of ${[...recordTypes.keys()].join(', ')}`;
      command.option(
        '--calls-from <date>',
        `Search for ${kindsInCalls(kinds)} in all calls from this date on (default: in the first 100 calls)`,
        parseDate,
      );
    },
  },
  graph: {
    summary: 'Draw the reference graph',
    define: (command, perform) =>
      command
        .description(
          'Draw the reference graph of the manifests, or only of the given addresses and everything connected to them. Needs no API key and no network. More than 40 resources are grouped by a label, by folder or by number.',
        )
        .argument('[address...]', 'Resources, or a knowledge base such as "KnowledgeBase/FAQ"')
        .addOption(outputOption(['mermaid', 'dot', 'svg', 'html'], 'mermaid'))
        .option('--group-by <field>', 'Group by label:KEY, folder, number or none', groupBy)
        .action(perform(async () => (await import('../actions/graph.ts')).graph)),
  },
  explain: {
    summary: 'Describe a kind, a field or a setting',
    traits: { withoutProject: true },
    define: (command, perform) =>
      command
        .description(
          'Describe a kind, a field, a value form or a setting of the project file: its type, its meaning, how voxform treats it, and an example. Without an argument, list all topics. Needs no project and no network.',
        )
        .argument('[topic]', 'Topic, e.g. Agent.llm_config.temperature, metadata.labels, secret or project.guards')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await import('../actions/explain.ts')).explainTopic)),
  },
  schema: {
    summary: 'Print a JSON Schema',
    traits: { withoutProject: true },
    define: (command, perform) =>
      command
        .description(
          'Print the JSON Schema of manifests, of one kind, of the project file, the fleet file or a policy file, of the state, or of the JSON output of commands and of their errors.',
        )
        .argument(
          '[name]',
          'Schema: manifest, project, fleet, policies, state, plan, plans, apply, drift, diff, draft-diff, impact, history, error, api, or a kind such as Agent',
          'manifest',
        )
        .action(perform(async () => (await import('../actions/explain.ts')).schema)),
  },
} satisfies CommandTable;

function groupBy(value: string): GroupBy {
  if (value === 'folder' || value === 'number' || value === 'none') return value;
  if (/^label:./.test(value)) return `label:${value.slice('label:'.length)}`;
  throw new InvalidArgumentError('Expected label:KEY, folder, number or none.');
}
