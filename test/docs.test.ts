import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../src/cli/program.ts';
import { emulatorBehaviour } from '../src/emulator/behaviour.ts';

const root = path.resolve(import.meta.dirname, '..');
const pages = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: root }).sort();
const program = await createProgram(async () => undefined);

/** Pages with steps, and the test that follows them. */
const followed: Readonly<Record<string, string>> = {
  'accepting-drift': 'test/docs/daily-work.test.ts',
  adopting: 'test/docs/existing-records.test.ts',
  ci: 'test/docs/teams.test.ts',
  editor: 'test/editor/neovim.test.ts',
  emulator: 'test/docs/daily-work.test.ts',
  fleet: 'test/docs/fleet.test.ts',
  'getting-started': 'test/docs/getting-started.test.ts',
  manifests: 'test/docs/daily-work.test.ts',
  'moving-a-workspace': 'test/docs/moving-a-workspace.test.ts',
  page: 'test/docs/fleet.test.ts',
  'object-stores': 'test/docs/object-stores.test.ts',
  'plan-and-apply': 'test/docs/daily-work.test.ts',
  policies: 'test/docs/teams.test.ts',
  publishing: 'test/docs/daily-work.test.ts',
  'pull-requests': 'test/docs/pull-requests.test.ts',
  reading: 'test/docs/daily-work.test.ts',
  secrets: 'test/cli/secret-sources.test.ts',
  'shared-states': 'test/docs/teams.test.ts',
  state: 'test/docs/teams.test.ts',
  watching: 'test/docs/teams.test.ts',
  workspaces: 'test/docs/workspaces.test.ts',
};

/** Reference pages, which no test follows. */
const reference = ['commands', 'guarantees', 'library', 'operations', 'project-file'];

/** The commands of the command line by name, e.g. `state list`. */
const commands = new Map(
  program.commands.flatMap((command) => [
    [command.name(), command] as const,
    ...command.commands.map((child) => [`${command.name()} ${child.name()}`, child] as const),
  ]),
);

function textOf(page: string): string {
  return readFileSync(path.join(root, page), 'utf8');
}

/** Returns the anchors of a page's headings on GitHub and GitLab. */
function headingsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(pages)('%s', (page) => {
  it('links to existing files', () => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
    const missing = links.filter((link) => !existsSync(path.join(root, path.dirname(page), link)));
    expect(missing).toEqual([]);
  });

  it('links to existing headings', () => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
    const missing = links.filter(
      ([, file = '', heading = '']) =>
        !headingsOf(file === '' ? page : path.join(path.dirname(page), file)).includes(heading),
    );
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  it('contains only existing commands and flags', () => {
    const lines = [...textOf(page).matchAll(/(?:`|\$ |&& |run: )voxform ([^`\n|#>]*)/g)].map(([, line = '']) => line);
    // A command of another program may follow `--`.
    expect(lines.flatMap((line) => line.split(/ -- (?=[a-z])/)).flatMap(unknownIn)).toEqual([]);
  });
});

describe('docs/commands.md', () => {
  it('lists every command', () => {
    const table = textOf('docs/commands.md').split('## ')[0] ?? '';
    expect([...commands.keys()].filter((name) => !names(table, name))).toEqual([]);
  });
});

describe('CHANGELOG.md', () => {
  it('mentions every command', () => {
    expect([...commands.keys()].filter((name) => !names(textOf('CHANGELOG.md'), name))).toEqual([]);
  });
});

describe('docs/', () => {
  it('has no page of 200 lines or more', () => {
    // A changelog grows.
    const read = pages.filter((page) => page !== 'CHANGELOG.md');
    expect(read.filter((page) => textOf(page).trimEnd().split('\n').length >= 200)).toEqual([]);
  });

  it('has pages that a test follows, and reference pages', () => {
    const own = pages
      .filter((page) => path.dirname(page) === 'docs')
      .map((page) => path.basename(page, '.md'))
      .sort();
    expect([...Object.keys(followed), ...reference].sort()).toEqual(own);
    const lost = Object.entries(followed).filter(([page, test]) => !textOf(test).includes(`docs/${page}.md`));
    expect(lost).toEqual([]);
  });

  it('has at most 26 pages, each of them in the README', () => {
    const own = pages.filter((page) => path.dirname(page) === 'docs');
    expect(own.length).toBeLessThanOrEqual(26);
    expect(own.filter((page) => !textOf('README.md').includes(`](${page})`))).toEqual([]);
  });
});

describe('code fetched by the kit and the docs', () => {
  const kit = globSync(
    ['.github/**/*.yml', 'ci/**/*.{sh,yml}', 'examples/ci/**/*.yml', '*.{yml,yaml}', 'deploy/**/*.yaml'],
    {
      cwd: root,
    },
  );

  it.each([...pages, ...kit])('has a name that nobody else can register: %s', (page) => {
    const text = textOf(page);
    const actions = [...text.matchAll(/\buses: (\S+)/g)].map(([, name = '']) => name);
    // GitHub gives no account an owner name in angle brackets.
    const open = actions.filter((name) => !/^actions\/[\w-]+@[\da-f]{40}$|^<OWNER>\/<REPOSITORY>@<COMMIT>$/.test(name));
    const packages = [...text.matchAll(/\b(?:npx|npm (?:install|i|exec)) ([^`\n]*)/g)]
      .flatMap(([, line = '']) => line.split(/[;|&]/)[0]?.trim().split(/\s+/) ?? [])
      .filter((word) => /^"?voxform(?:@|"?$)/.test(word));
    expect([...open, ...packages]).toEqual([]);
    expect(text).not.toMatch(/your-(?:org|group)\//);
  });
});

describe('formats in docs/', () => {
  it('match each command', () => {
    const section = textOf('docs/commands.md').split('## Formats')[1]?.split('## ')[0] ?? '';
    const told = [...section.matchAll(/^\| (`[^|]*) \| (`[^|]*`) \|/gm)].flatMap(([, names = '', formats = '']) =>
      codesIn(names).map((name) => [name, codesIn(formats)] as const),
    );
    const taken = [...commands].flatMap(([name, command]) => {
      const formats = command.options.find(({ long }) => long === '--output')?.argChoices;
      return formats === undefined ? [] : [[name, formats] as const];
    });
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(taken));
  });
});

function codesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

describe('docs/emulator.md', () => {
  it('lists every switch', () => {
    const text = textOf('docs/emulator.md');
    expect(Object.keys(emulatorBehaviour.shape).filter((key) => !text.includes(`\`${key}`))).toEqual([]);
  });
});

/**
 * Returns true if a text contains the command in code marks; a subcommand may follow others there without the name of
 * its group.
 */
function names(text: string, command: string): boolean {
  const [group = '', own] = command.split(' ');
  const isThere = (name: string) => new RegExp(`\`(voxform )?${name}[\`\\s]`).test(text);
  if (own === undefined) return isThere(group);
  const lines = text.split('\n').filter((line) => line.includes(`\`${group} `));
  return isThere(`${group} ${own}`) || lines.some((line) => line.includes(`\`${own}\``));
}

/** Returns names in a line of the docs that the command line does not have. */
function unknownIn(line: string): string[] {
  const words = line.trim().split(/\s+/);
  const flags = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0] ?? word);
  const plain = words.filter((word) => !word.startsWith('-'));
  const [first = '', second = '', third = ''] = plain;
  const command = commands.get(`${first} ${second}`) ?? commands.get(first);
  const isProgram = command === undefined && (first === '' || first === 'help' || flags[0] === words[0]);
  if (command === undefined && !isProgram) return [`voxform ${line.trim()}: there is no such command`];
  const inGroup = command?.commands.find((each) => each.name() === third);
  const known = [...program.options, ...(command?.options ?? []), ...(inGroup?.options ?? [])];
  return flags
    .filter((flag) => !known.some(({ long, short }) => flag === long || flag === short || flag === '--help'))
    .map((flag) => `voxform ${line.trim()}: there is no flag ${flag}`);
}
