import { z } from 'zod';
import { isRefName } from '../git/git-address.ts';
import { hostNames } from '../hosting/index.ts';
import { didYouMean } from '../problems/suggest.ts';
import { about } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';
import { secretOrEnvForm } from './notify-schema.ts';

const placeholders = ['workspace', 'project'];

function checkPlaceholders(text: string, context: z.RefinementCtx): void {
  for (const [, name = ''] of text.matchAll(/\{([^{}]*)\}/g)) {
    if (placeholders.includes(name)) continue;
    const near = didYouMean(name, placeholders) || `; placeholders: ${placeholders.join(', ')}`;
    context.addIssue({ code: 'custom', message: `unknown placeholder {${name}}${near}` });
  }
}

const withExampleNames = (text: string): string => text.replaceAll(/\{(?:workspace|project)\}/g, 'x');

export const pullRequestsSchema = lazy(() =>
  z
    .strictObject({
      host: z.enum(hostNames).meta({
        description: 'Kind of the host; default: by the address of the remote.',
        examples: ['github'],
      }),
      api_url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).meta({
        description: 'Address of its API; default: by the address of the remote.',
        examples: ['https://github.example.com/api/v3'],
      }),
      repository: z
        .string()
        .min(1)
        .meta(about('Repository on the host; default: by the address of the remote origin.', 'acme/voices')),
      base: z
        .string()
        .refine(isRefName, { error: 'expected the name of a branch' })
        .meta({
          description:
            'Branch that requests go to; default: the branch that the manifests are fetched from, else the default branch of the repository.',
          examples: ['main'],
        }),
      branch: z
        .string()
        .superRefine(checkPlaceholders)
        .refine((text) => text.includes('{workspace}') && isRefName(withExampleNames(text)), {
          error: 'expected the name of a branch with {workspace} in it',
        })
        .meta({
          description:
            'Branch of a request, with {workspace}, and {project} for the folder of the project; default: voxform/drift/{workspace}.',
          examples: ['drift/{workspace}'],
        }),
      title: z
        .string()
        .min(1)
        .max(200)
        .superRefine(checkPlaceholders)
        .meta({
          description: 'Title of a request, with {workspace} and {project}; default: Accept drift of {workspace}.',
          examples: ['Accept drift of {workspace}'],
        }),
      token: secretOrEnvForm().meta({
        description: 'Token for the API; default: { $secret: GITHUB_TOKEN } or { $secret: GITLAB_TOKEN }.',
        examples: [{ $secret: 'GITHUB_TOKEN' }],
      }),
    })
    .partial()
    .describe('Pull or merge requests that accept drift.'),
);

export type PullRequestSettings = z.infer<ReturnType<typeof pullRequestsSchema>>;
