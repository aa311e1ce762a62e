import path from 'node:path';
import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { readTextFile, realPath } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { projectFileIn } from '../../project/find-project.ts';
import { projectFiles } from '../../project/format-files.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import { escapeUnsafe } from '../../values/unsafe-text.ts';
import { packageFiles, packageText } from '../../version.ts';
import type { Context } from '../context.ts';

/** A set of files that an assistant can read as resources. */
interface Collection {
  readonly template: string;
  readonly title: string;
  readonly description: string;
  /** Returns the files by URI. No other file can be read. */
  files(): Promise<ReadonlyMap<string, ListedFile>>;
}

interface ListedFile {
  readonly name: string;
  readonly mimeType: string;
  text(): Promise<string>;
}

export function registerResources(server: McpServer, context: Context): void {
  for (const [name, { template, title, description, files }] of Object.entries(collections(context))) {
    const list = async () => ({
      resources: [...(await files())].map(([uri, { name, mimeType }]) => ({ uri, name, title: name, mimeType })),
    });
    server.registerResource(
      name,
      new ResourceTemplate(template, { list }),
      { title, description },
      async ({ href }) => {
        const file = (await files()).get(href);
        if (file === undefined) throw new ResourceNotFoundError(href);
        const text = escapeUnsafe(context.redactor.redact(await file.text()).replaceAll('\r\n', '\n'));
        return { contents: [{ uri: href, mimeType: file.mimeType, text }] };
      },
    );
  }
}

function collections(context: Context): Readonly<Record<string, Collection>> {
  return {
    project: {
      template: 'voxform://project/{+file}',
      title: 'Manifests',
      description: 'voxform.yaml and the manifests of the project.',
      files: () => filesOfProject(context),
    },
    schemas: {
      template: 'voxform://schemas/{name}',
      title: 'JSON Schemas',
      description: 'Schemas of manifests, of voxform.yaml and of results.',
      files: () => filesOfPackage('schemas', '.schema.json', 'application/schema+json'),
    },
    docs: {
      template: 'voxform://docs/{page}',
      title: 'Documentation',
      description: 'The documentation of voxform, one page for each task.',
      files: () => filesOfPackage('docs', '.md', 'text/markdown'),
    },
  };
}

async function filesOfProject({ cwd, projectFolder = cwd, env }: Context): Promise<ReadonlyMap<string, ListedFile>> {
  const { root, names } = await loadProject({ cwd: projectFolder, env }).then(
    (project) => ({ root: project.root, names: projectFiles(project) }),
    (error: unknown) => filesOfInvalidProject(error, projectFolder),
  );
  const files = names.filter((file) => !file.split('/').some((part) => part.startsWith('.')));
  return new Map(
    files.map((file) => [
      `voxform://project/${file.split('/').map(encodeURIComponent).join('/')}`,
      {
        name: file,
        mimeType: file.endsWith('.json') ? 'application/json' : 'application/yaml',
        async text() {
          const read = readTextFile(path.join(root, file), root);
          if ('text' in read) return read.text;
          throw new UserError(`${file}: ${read.problem.message}`);
        },
      },
    ]),
  );
}

/**
 * Returns the known files of a project that cannot be loaded or does not exist. Throwing would also hide the schemas and the docs, which
 * an assistant needs to fix the project. Rethrows bugs.
 */
function filesOfInvalidProject(
  error: unknown,
  folder: string,
): { readonly root: string; readonly names: readonly string[] } {
  if (!(error instanceof UserError)) throw error;
  if (error instanceof InvalidProject && error.usable !== undefined)
    return { root: error.usable.root, names: projectFiles(error.usable) };
  const file = projectFileIn(folder);
  return { root: realPath(folder), names: file === undefined ? [] : [file] };
}

async function filesOfPackage(
  folder: string,
  suffix: string,
  mimeType: string,
): Promise<ReadonlyMap<string, ListedFile>> {
  const files = packageFiles(folder)
    .filter((file) => file.endsWith(suffix) && !file.includes('/'))
    .sort();
  return new Map(
    files.map((file) => {
      const name = file.slice(0, -suffix.length);
      const text = async () => packageText(`${folder}/${file}`);
      return [`voxform://${folder}/${name}`, { name, mimeType, text }];
    }),
  );
}
