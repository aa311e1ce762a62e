import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { strToU8, type Zippable, zipSync } from 'fflate';
import { rolldown } from 'rolldown';
import { EXAMPLES } from '../src/manifests/value-forms.ts';
import { VERSION } from '../src/version.ts';
import { licencesOf } from './licences.ts';

/*
 * Builds the extension for VS Code, which contains the command. The build is reproducible.
 *   node scripts/vscode.ts [FILE]
 */

const root = path.resolve(import.meta.dirname, '..');
const source = path.join(root, 'editors', 'vscode');
const [file = path.join(root, `voxform-${VERSION}.vsix`)] = process.argv.slice(2);
const packageFile = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8')) as PackageFile;
const { name, publisher, displayName, description, engines, contributes } = packageFile;

const built = mkdtempSync(path.join(tmpdir(), 'voxform-vscode-'));
try {
  execFileSync(process.execPath, [path.join(root, 'scripts', 'bundle.ts'), built], { cwd: root, stdio: 'inherit' });
  const files = {
    ...(await extensionFiles()),
    ...folderIn(built, 'voxform/dist'),
    ...folderIn(path.join(root, 'schemas'), 'voxform/schemas'),
    // The only dependency outside the bundles that the editor's commands need.
    ...folderIn(
      path.join(root, 'node_modules', 'croner'),
      'voxform/node_modules/croner',
      /\/(?:croner\.cjs|croner\.js|package\.json|LICENSE)$/,
    ),
    'voxform/package.json': strToU8(JSON.stringify({ name: 'voxform', version: VERSION, type: 'module' })),
  };
  writeFileSync(file, zip(files));
  process.stdout.write(`${path.relative(process.cwd(), file)}: ${statSync(file).size} bytes\n`);
} finally {
  rmSync(built, { recursive: true, force: true });
}

interface PackageFile {
  readonly name: string;
  readonly publisher: string;
  readonly displayName: string;
  readonly description: string;
  readonly engines: { readonly vscode: string };
  readonly contributes: { readonly grammars: readonly [{ readonly scopeName: string }] };
}

type Files = Readonly<Record<string, Uint8Array>>;

async function extensionFiles(): Promise<Files> {
  const bundle = await rolldown({
    cwd: root,
    input: path.join(source, 'src', 'extension.ts'),
    platform: 'node',
    experimental: { attachDebugInfo: 'none' },
    external: ['vscode'],
    transform: { target: 'node24' },
  });
  const { output } = await bundle.generate({ format: 'cjs', comments: false, minify: true, codeSplitting: false });
  await bundle.close();
  const [{ code }] = output;
  return {
    'package.json': strToU8(`${JSON.stringify({ ...packageFile, version: VERSION }, undefined, 2)}\n`),
    'dist/extension.cjs': strToU8(code),
    'dist/LICENSES.txt': strToU8(licencesOf(output)),
    'dist/forms.tmLanguage.json': strToU8(JSON.stringify(formsGrammar())),
    ...folderIn(path.join(source, 'images'), 'images'),
    'README.md': readFileSync(path.join(source, 'README.md')),
    'CHANGELOG.md': readFileSync(path.join(root, 'CHANGELOG.md')),
    'LICENSE.txt': readFileSync(path.join(root, 'LICENSE')),
  };
}

/** Returns a grammar that highlights the keys `$ref`, `$secret` and so on in YAML. */
function formsGrammar() {
  const names = Object.keys(EXAMPLES).map((name) => name.slice(1));
  const match = `(?<![^\\s{,"'])\\$(?:${names.join('|')})(?=["']?\\s*:)`;
  const [{ scopeName }] = contributes.grammars;
  const patterns = [{ match, name: 'keyword.control.form.voxform' }];
  return { scopeName, injectionSelector: 'L:entity.name.tag.yaml', patterns };
}

function folderIn(folder: string, target: string, wanted = /./): Files {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files
      .map((each) => [each, `${target}/${path.relative(folder, each).replaceAll(path.sep, '/')}`] as const)
      .filter(([, to]) => wanted.test(to))
      .map(([from, to]) => [to, readFileSync(from)]),
  );
}

function zip(files: Files): Uint8Array {
  const all: Record<string, Uint8Array> = {
    'extension.vsixmanifest': strToU8(manifest()),
    '[Content_Types].xml': strToU8(contentTypes(Object.keys(files))),
  };
  for (const each of Object.keys(files).sort()) all[`extension/${each}`] = files[each] ?? new Uint8Array();
  // A local time, because the format has no time zone.
  const mtime = new Date(2000, 0, 1);
  const entries = Object.entries(all).map(([each, bytes]): [string, Zippable[string]] => [each, [bytes, { mtime }]]);
  return zipSync(Object.fromEntries(entries), { level: 9 });
}

/** Returns the manifest that VS Code reads before it installs an extension. */
function manifest(): string {
  const asset = (type: string, to: string) =>
    `<Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${to}" Addressable="true"/>`;
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${VERSION}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Assets>
    ${asset('Code.Manifest', 'package.json')}
    ${asset('Services.Content.Details', 'README.md')}
    ${asset('Services.Content.Changelog', 'CHANGELOG.md')}
    ${asset('Services.Content.License', 'LICENSE.txt')}
  </Assets>
</PackageManifest>
`;
}

function contentTypes(files: readonly string[]): string {
  const extensions = new Set(
    [...files.map((each) => path.extname(each)), '.vsixmanifest'].filter((each) => each !== ''),
  );
  const types = [...extensions]
    .sort()
    .map((each) => `<Default Extension="${each}" ContentType="application/octet-stream"/>`);
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types.join('')}</Types>
`;
}
