import type { Argument, Command, Help, HelpConfiguration, Option } from 'commander';

/** The layout of help. It adds examples, and ends the help of a command with only the names of the global flags. */
export const helpLayout: HelpConfiguration = {
  showGlobalOptions: true,
  minWidthToWrap: 24,
  // The help of the subcommand lists its arguments. Listing them here would leave no room for its description.
  subcommandTerm: (command) => command.name(),
  subcommandDescription: summaryOf,
  optionDescription: descriptionWithFacts,
  argumentDescription: descriptionWithFacts,
  formatHelp,
};

/** Returns the summary of a command. A subcommand has no summary, so the first clause of its description is used. */
function summaryOf(command: Command): string {
  return command.summary() || command.description().replace(/[.:;](?: .*|$)/s, '');
}

/** Returns the description with choices and default, such as `Output format (text, json; default: text)`. */
function descriptionWithFacts(each: Option | Argument): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = each;
  const isText = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const defaultText = defaultValueDescription ?? (isText ? String(defaultValue) : undefined);
  const facts = [
    argChoices?.join(', '),
    'mandatory' in each && each.mandatory ? 'required' : undefined,
    defaultText === undefined ? undefined : `default: ${defaultText}`,
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`;
}

function formatHelp(command: Command, helper: Help): string {
  const width = helper.padWidth(command, helper);
  const item = (term: string, description: string): string => helper.formatItem(term, width, description, helper);
  const section = (heading: string, items: string[]): string[] => helper.formatItemList(heading, items, helper);
  const flags = (options: readonly Option[]): string[] =>
    options.map((option) => item(helper.optionTerm(option), helper.optionDescription(option)));

  const description = helper.boxWrap(helper.commandDescription(command), helper.helpWidth ?? 80);
  const isRoot = command.parent === null;
  const headingOf = (each: Command): string => (isRoot && each.helpGroup()) || 'Commands:';
  const members = helper.groupItems([...command.commands], helper.visibleCommands(command), headingOf);
  const argumentsOf = helper.visibleArguments(command);
  return [
    `${helper.styleTitle('Usage:')} ${helper.commandUsage(command)}`,
    '',
    description,
    '',
    ...section(
      'Arguments:',
      argumentsOf.map((each) => item(helper.argumentTerm(each), helper.argumentDescription(each))),
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

/** Returns the section with the names of the global flags, without the flags of parent commands. `voxform --help` describes them. */
function globalFlags(command: Command, helper: Help): string[] {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const names = helper
    .visibleGlobalOptions(command)
    .filter((option) => option.long !== '--version' && root.options.includes(option))
    .map(({ short, long }) => short ?? long);
  const title = helper.styleTitle('Global flags:');
  return [title, `  ${names.join(', ')}`, '  Run voxform --help for their descriptions.', ''];
}

/** Returns the full name of a command without `voxform`, such as `state list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${pathOf(parent)} ${command.name()}`.trim();
}

/** Two examples for each command, which a user can paste. */
const examples: Readonly<Record<string, readonly [string, string]>> = {
  init: ['init', 'init voices'],
  validate: ['validate', 'validate --secrets --output json'],
  plan: ['plan --target Agent/support-line', 'plan --out changes.plan'],
  apply: ['apply', 'apply changes.plan'],
  show: ['show changes.plan', 'show changes.plan --output html > plan.html'],
  drift: ['drift', 'drift --all-workspaces --output json'],
  status: ['status --only drifted', 'status --wait-published --timeout 5m'],
  watch: ['watch', 'watch --mode apply --auto-approve --interval 1m'],
  diff: ['diff staging production', 'diff staging production --output json'],
  accept: ['accept --dry-run', 'accept --pull-request --auto-approve'],
  versions: ['versions Agent/support-line', 'versions Agent/support-line --diff published'],
  impact: [
    'impact Agent/support-line --since 2026-01-31',
    'impact Agent/support-line --fail-if "session_outcome=escalated>+5%"',
  ],
  rollback: ['rollback Agent/support-line --to 3 --dry-run', 'rollback Agent/support-line --to 3'],
  import: ['import Agent/support-line 01JEMV1AT0RAGENT0000000001', 'import --from records.csv'],
  export: ['export --out voices', 'export --out voices --agents-from agent-ids.txt'],
  migrate: ['migrate --from staging --to production --dry-run', 'migrate --from staging --to production'],
  recover: ['recover', 'recover --auto --auto-approve'],
  get: ['get calls --from 2026-01-31 --output csv', 'get api-keys --expires-within 30d'],
  history: ['history', 'history Agent/support-line --since 2026-01-31'],
  'history show': ['history show 5f0c2a9e', 'history show 5f0c2a9e --output json'],
  state: ['state list', 'state show Agent/support-line'],
  'state list': ['state list', 'state list --output json'],
  'state show': ['state show Agent/support-line', 'state show PhoneNumber/main -w production'],
  'state resolve': [
    'state resolve Webhook/calls --not-created',
    'state resolve Agent/support-line --not-created -w production',
  ],
  'state mv': ['state mv Agent/support Agent/support-line', 'state mv Webhook/old Webhook/calls --lock-timeout 1m'],
  'state rm': ['state rm Agent/support-line', 'state rm Webhook/calls PhoneNumber/main'],
  'state pull': ['state pull > state.json', 'state pull -w production'],
  'state push': ['state push state.json', 'state push state.json --force'],
  'state move': ['state move --from .voxform/staging.state.json', 'state move --from local -w production'],
  'state init': ['state init -w production', 'state init --sql > setup.sql'],
  'state seal': ['state seal', 'state seal -w production --lock-timeout 1m'],
  'state unseal': ['state unseal', 'state unseal -w production'],
  'state rescue': ['state rescue .voxform/rescue/5f0c2a9e.jsonl', 'state rescue 5f0c2a9e.jsonl -w production'],
  secret: ['secret set OPENAI_API_KEY', 'secret list'],
  'secret set': ['secret set OPENAI_API_KEY', 'secret set STAGING_API_KEY -C voices'],
  'secret list': ['secret list', 'secret list -C voices'],
  'secret remove': ['secret remove OPENAI_API_KEY', 'secret remove STAGING_API_KEY -C voices'],
  'state unlock': ['state unlock 5f0c2a9e', 'state unlock 5f0c2a9e -w production'],
  workspace: ['workspace list', 'workspace list --output json'],
  'workspace list': ['workspace list', 'workspace list --output json'],
  orphans: ['orphans', 'orphans --check --output json'],
  'orphans close': [
    'orphans close 01JEMV1AT0RAGENT0000000001 --because deleted',
    'orphans close 01JEMV1AT0RAGENT0000000001 --because handed-over',
  ],
  fleet: ['fleet serve', 'fleet status'],
  'fleet serve': ['fleet serve', 'fleet serve --listen 127.0.0.1:9095'],
  'fleet status': ['fleet status', 'fleet status voices/clients/acme:production'],
  'fleet pulls': ['fleet pulls', 'fleet pulls --all --output json'],
  'fleet run': ['fleet run voices/clients/acme:production', "fleet run 'voices/*:staging'"],
  'fleet pause': [
    'fleet pause voices/clients/acme:production',
    'fleet pause "voices/acme:*" --because "migration on Friday"',
  ],
  'fleet resume': ['fleet resume voices/clients/acme:production', "fleet resume 'voices/*:staging'"],
  'fleet show': [
    'fleet show voices/clients/acme:production',
    'fleet show voices/clients/acme:production --output markdown',
  ],
  'fleet approve': [
    'fleet approve voices/clients/acme:production 5f0c2a9e41d7',
    'fleet approve voices/clients/acme:production 5f0c',
  ],
  'fleet reject': [
    'fleet reject voices/clients/acme:production 5f0c2a9e41d7',
    'fleet reject voices/acme:production 5f0c --because late',
  ],
  'fleet token': ['fleet token add ann --role approver', 'fleet token list'],
  'fleet token add': ['fleet token add ann --role approver', 'fleet token add wall --role viewer'],
  'fleet token list': ['fleet token list', 'fleet token list --output json'],
  'fleet token remove': ['fleet token remove ann', 'fleet token remove wall'],
  'fleet exec': [
    'fleet exec voices/clients/acme:production plan',
    'fleet exec voices/acme:test -- state resolve Agent/night --not-created',
  ],
  'fleet init': ['fleet init', 'fleet init --sql > setup.sql'],
  fmt: ['fmt', 'fmt --check'],
  graph: ['graph --output svg > graph.svg', 'graph Agent/support-line'],
  explain: ['explain Agent.llm_config.temperature', 'explain project.guards'],
  schema: ['schema > manifest.schema.json', 'schema Agent'],
  completion: ['completion zsh', 'completion fish > ~/.config/fish/completions/voxform.fish'],
  lsp: ['lsp', 'lsp -w staging'],
  ci: ['ci comment plan.md', 'ci reviewed-plan voxform:plan'],
  'ci comment': ['ci comment plan.md', 'ci comment --project voices plan.md'],
  'ci reviewed-plan': ['ci reviewed-plan voxform:plan', 'ci reviewed-plan voxform:plan --path voices/voxform.plan'],
  mcp: ['mcp', 'mcp -w staging'],
  emulator: ['emulator', 'emulator --port 0 --data records.json'],
};

export function examplesOf(command: string): readonly string[] {
  return (examples[command] ?? []).map((line) => `voxform ${line}`);
}
