import { describe, expect, it } from 'vitest';
import type { Environment } from '../../src/manifests/secret-reader.ts';
import type { LoadDesiredOptions } from '../../src/project/load-desired.ts';
import { type Files, lineOf, loadFiles, manifest, PLAIN_PROJECT } from './temporary-project.ts';

interface Row {
  readonly reason: string;
  readonly files: Files;
  readonly env?: Environment;
  readonly mode?: LoadDesiredOptions['mode'];
  readonly expected: readonly string[];
}

const withWorkspace = (settings: string) => `${PLAIN_PROJECT}${settings.replace(/^/gm, '    ')}\n`;
const agent = (name: string, spec = 'name: A') => manifest('Agent', name, spec);
const number = (name: string, spec: string) => manifest('PhoneNumber', name, spec);
const user = (name: string, spec: string) => manifest('WorkspaceUser', name, spec);
const calls = (...targets: string[]) =>
  `llm_config:\n  tools:\n${targets.map((target) => `    - { agent: { $ref: Agent/${target} } }`).join('\n')}`;
const meta = (line: string) => agent('a').replace('name: a\n', `name: a\n  ${line}\n`);

const rows: readonly Row[] = [
  {
    reason: 'no manifests',
    files: {},
    expected: [
      'voxform.yaml:1:1 manifests warning no-manifests no manifests: no file matches manifests/**/*.{yaml,yml,json}',
    ],
  },
  {
    reason: 'one of two patterns matches nothing',
    files: {
      'voxform.yaml': `manifests: [manifests/*.yaml, "old/*.yaml"]\n${PLAIN_PROJECT}`,
      'manifests/a.yaml': agent('a'),
    },
    expected: ['voxform.yaml:1:31 manifests[1] warning no-match no file matches "old/*.yaml"'],
  },
  {
    reason: 'patterns that match the project file and the state',
    files: {
      'voxform.yaml': `manifests: ["**/*.{yaml,json}"]\nstate: { backend: local, path: "my states/{workspace}(1).json" }\n${PLAIN_PROJECT}`,
      'a.yaml': agent('a'),
      'my states/test(1).json': '{ "format_version": 1 }',
    },
    expected: [],
  },
  {
    reason: 'a pattern that matches only the project file',
    files: { 'voxform.yaml': `manifests: ["*.yaml"]\n${PLAIN_PROJECT}` },
    expected: ['voxform.yaml:1:12 manifests warning no-manifests no manifests: no file matches *.yaml'],
  },
  {
    reason: 'patterns with only exclusions',
    files: { 'voxform.yaml': `manifests: ["!old/**"]\n${PLAIN_PROJECT}`, 'manifests/a.yaml': agent('a') },
    expected: ['voxform.yaml:1:12 manifests warning no-manifests no manifests: the patterns only exclude files'],
  },
  {
    reason: 'a pattern outside the project',
    files: { 'voxform.yaml': `manifests:\n  - ../shared/*.yaml\n${PLAIN_PROJECT}` },
    expected: [
      'voxform.yaml:2:5 manifests[0] outside-project the pattern "../shared/*.yaml" points outside the project folder',
    ],
  },
  {
    reason: 'one address in two files',
    files: { 'manifests/a.yaml': agent('same'), 'manifests/b.yaml': `---\n${agent('same')}` },
    expected: [
      'manifests/b.yaml:5:9 metadata.name duplicate-address Agent/same is already declared at manifests/a.yaml:1',
    ],
  },
  {
    reason: 'the problems of both manifests with one address',
    files: { 'manifests/n.yaml': `${number('n', 'number: "1"')}---\n${number('n', 'number: x')}` },
    expected: [
      'manifests/n.yaml:11:9 metadata.name duplicate-address PhoneNumber/n is already declared at manifests/n.yaml:1',
      'manifests/n.yaml:13:11 spec.number bad-format number: expected a phone number, such as "+4930123456", got "x"',
    ],
  },
  {
    reason: 'one name in two kinds is valid',
    files: { 'manifests/a.yaml': agent('same'), 'manifests/b.yaml': user('same', 'email: a@b.c') },
    expected: [],
  },
  {
    reason: 'two numbers with the same digits',
    files: {
      'manifests/n.yaml': `${number('one', 'number: "+49 30 1234"')}---\n${number('two', 'number: "0049(30)1234"')}`,
    },
    expected: [
      'manifests/n.yaml:13:11 spec.number duplicate-record PhoneNumber/one at manifests/n.yaml:1 has the same number; both would manage the same record',
    ],
  },
  {
    reason: 'two users with the same address except for case',
    files: {
      'manifests/u.yaml': `${user('one', 'email: Ann@Example.com')}---\n${user('two', 'email: ann@example.com')}`,
    },
    expected: [
      'manifests/u.yaml:13:10 spec.email duplicate-record WorkspaceUser/one at manifests/u.yaml:1 has the same email; both would manage the same record',
    ],
  },
  {
    reason: 'two invalid numbers are not compared',
    files: { 'manifests/n.yaml': `${number('one', 'number: x')}---\n${number('two', 'number: y')}` },
    expected: [
      'manifests/n.yaml:6:11 spec.number bad-format number: expected a phone number, such as "+4930123456", got "x"',
      'manifests/n.yaml:13:11 spec.number bad-format number: expected a phone number, such as "+4930123456", got "y"',
    ],
  },
  {
    reason: 'a reference to a missing resource, with a suggestion of the kind',
    files: {
      'manifests/a.yaml': agent('support-line'),
      'manifests/n.yaml': number('n', 'number: "1"\ninbound_agent_id: { $ref: Agent/suport-line }'),
    },
    expected: [
      'manifests/n.yaml:7:29 spec.inbound_agent_id dangling-reference no manifest declares Agent/suport-line; did you mean "Agent/support-line"?',
    ],
  },
  {
    reason: 'the name exists only in another kind',
    files: {
      'manifests/a.yaml': user('main', 'email: a@b.c'),
      'manifests/n.yaml': number('n', 'number: "1"\ninbound_agent_id: { $ref: Agent/main }'),
    },
    expected: ['manifests/n.yaml:7:29 spec.inbound_agent_id dangling-reference no manifest declares Agent/main'],
  },
  {
    reason: 'a knowledge base is looked up later',
    files: {
      'manifests/a.yaml': agent('a', 'llm_config: { knowledge_base_ids: [{ $ref: KnowledgeBase/Any name } ] }'),
    },
    expected: [],
  },
  {
    reason: 'a reference inside a join',
    files: {
      'manifests/a.yaml': agent('a', 'prompt_config: { prompt: { $join: [Send to, { $ref: Agent/b }] } }'),
    },
    expected: [
      'manifests/a.yaml:6:55 spec.prompt_config.prompt.$join[1] dangling-reference no manifest declares Agent/b; did you mean "Agent/a"?',
    ],
  },
  {
    reason: 'a name where an id belongs',
    files: {
      'manifests/a.yaml': agent('a'),
      'manifests/u.yaml': user('u', 'email: a@b.c\nagent_ids: [01JAGENT, a]'),
      'manifests/n.yaml': number('n', 'number: "1"\ninbound_agent_id: a\noutbound_agent_id: Agent/b'),
    },
    expected: [
      'manifests/n.yaml:7:21 spec.inbound_agent_id warning name-for-id "a" is the name of a resource, not an id; did you mean { $ref: Agent/a }?',
      'manifests/n.yaml:8:22 spec.outbound_agent_id warning name-for-id "Agent/b" is the address of a resource, not an id; did you mean { $ref: Agent/b }?',
      'manifests/u.yaml:7:25 spec.agent_ids[1] warning name-for-id "a" is the name of a resource, not an id; did you mean { $ref: Agent/a }?',
    ],
  },
  {
    reason: 'a name in braces after a dollar sign is sent unchanged, and reported once per name',
    files: {
      'manifests/a.yaml': agent('a', `prompt_config:\n  prompt: |\n    Hello.\n    I am \${name} of {{ company }}.`),
      'manifests/b.yaml': agent('b', 'prompt_config: { prompt: { $file: b.md } }'),
      'manifests/b.md': `I am \${ name } of \${company:-Acme}. \${1} $x \${}`,
      'manifests/c.yaml': agent(
        'c',
        `prompt_config: { prompt: { $join: ["\${team} \${role}", { $ref: Agent/a }] } }\nname: { $var: title }`,
      ),
      'manifests/d.yaml': agent('d', 'prompt_config: { prompt: { $join: [Hello, { $file: d.md }] } }'),
      'manifests/d.md': `One.\n\${first} and \${second}.\n`,
      'voxform.yaml': withWorkspace(`vars: { title: "The \${title}" }`),
    },
    expected: [
      `manifests/a.yaml:9:12 spec.prompt_config.prompt warning unresolved-placeholder \${name} is sent unchanged: insert { $var: name } with $join, or list name under literal_variables (2 places)`,
      `manifests/b.md:1:19 - warning unresolved-placeholder \${company} is sent unchanged: insert { $var: company } with $join, or list company under literal_variables`,
      `manifests/c.yaml:6:39 spec.prompt_config.prompt.$join[0] warning unresolved-placeholder \${team} is sent unchanged: insert { $var: team } with $join, or list team under literal_variables`,
      `manifests/c.yaml:6:47 spec.prompt_config.prompt.$join[0] warning unresolved-placeholder \${role} is sent unchanged: insert { $var: role } with $join, or list role under literal_variables`,
      `manifests/d.md:2:1 - warning unresolved-placeholder \${first} is sent unchanged: insert { $var: first } with $join, or list first under literal_variables`,
      `manifests/d.md:2:14 - warning unresolved-placeholder \${second} is sent unchanged: insert { $var: second } with $join, or list second under literal_variables`,
      `voxform.yaml:7:25 workspaces.test.vars.title warning unresolved-placeholder \${title} is sent unchanged: insert { $var: title } with $join, or list title under literal_variables`,
    ],
  },
  {
    reason: 'a form in a string is sent unchanged',
    files: {
      'manifests/a.yaml': agent(
        'a',
        `prompt_config: { prompt: "Of { $var: company }, { $file: ../a.md }, { $ref: x }" }`,
      ),
    },
    expected: ['company', '../a.md'].map((name) => expect.stringContaining(`or list ${name} under literal_variables`)),
  },
  {
    reason: 'intended names in braces',
    files: {
      'voxform.yaml': `literal_variables: [name, "call_*"]\n${PLAIN_PROJECT}`,
      'manifests/a.yaml': agent('a', `prompt_config: { prompt: "\${name} \${call_id}" }`),
    },
    expected: [],
  },
  {
    reason: 'an agent that refers to itself',
    files: { 'manifests/a.yaml': agent('a', calls('a')) },
    expected: [
      'manifests/a.yaml:8:26 spec.llm_config.tools[0].agent circular-reference circular reference: Agent/a -> Agent/a',
    ],
  },
  {
    reason: 'two agents that refer to each other',
    files: { 'manifests/a.yaml': agent('z', calls('b')), 'manifests/b.yaml': agent('b', calls('z')) },
    expected: [
      'manifests/a.yaml:8:26 spec.llm_config.tools[0].agent circular-reference circular reference: Agent/b -> Agent/z -> Agent/b',
    ],
  },
  {
    reason: 'a cycle behind a chain, reported once',
    files: {
      'manifests/a.yaml': ['a', 'b', 'c', 'd']
        .map((name, index, all) => agent(name, calls(all[index + 1] ?? 'b')))
        .join('---\n'),
    },
    expected: [
      'manifests/a.yaml:35:26 spec.llm_config.tools[0].agent circular-reference circular reference: Agent/b -> Agent/c -> Agent/d -> Agent/b',
    ],
  },
  {
    reason: 'two paths to one agent are not a cycle',
    files: {
      'manifests/a.yaml': [
        agent('a', calls('b', 'c')),
        agent('b', calls('d')),
        agent('c', calls('d')),
        agent('d'),
      ].join('---\n'),
    },
    expected: [],
  },
  {
    reason: 'one id in two manifests',
    files: {
      'manifests/a.yaml': meta('id: 01J'),
      'manifests/b.yaml': meta('id: 01J').replace('name: a', 'name: b'),
    },
    expected: ['manifests/b.yaml:5:7 metadata.id duplicate-id Agent/a at manifests/a.yaml:1 has the same metadata.id'],
  },
  {
    reason: 'a previous name that is in use',
    files: { 'manifests/a.yaml': meta('previous_names: [b]'), 'manifests/b.yaml': agent('b') },
    expected: [
      'manifests/a.yaml:5:20 metadata.previous_names[0] live-previous-name Agent/b still has its own manifest, at manifests/b.yaml:1',
    ],
  },
  {
    reason: 'previous names beside invalid ones',
    files: { 'manifests/a.yaml': meta('previous_names: [5, "", B, b]'), 'manifests/b.yaml': agent('b') },
    expected: [
      'manifests/a.yaml:5:20 metadata.previous_names[0] wrong-type previous_names[0] must be a string, but YAML reads it as the number 5; put it in quotes',
      'manifests/a.yaml:5:23 metadata.previous_names[1] bad-format previous_names[1]: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got ""',
      'manifests/a.yaml:5:27 metadata.previous_names[2] bad-format previous_names[2]: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got "B"',
      'manifests/a.yaml:5:30 metadata.previous_names[3] live-previous-name Agent/b still has its own manifest, at manifests/b.yaml:1',
    ],
  },
  {
    reason: 'a previous name that equals the current one',
    files: { 'manifests/a.yaml': meta('previous_names: [a]') },
    expected: [
      'manifests/a.yaml:5:20 metadata.previous_names[0] live-previous-name Agent/a is the current name of the resource',
    ],
  },
  {
    reason: 'one previous name in two manifests',
    files: {
      'manifests/a.yaml': meta('previous_names: [old]'),
      'manifests/b.yaml': meta('previous_names: [old]').replace('name: a', 'name: b'),
    },
    expected: [
      'manifests/b.yaml:5:20 metadata.previous_names[0] duplicate-previous-name Agent/a at manifests/a.yaml:1 also has Agent/old in previous_names',
    ],
  },
  {
    reason: 'a reference to a resource that the workspace skips',
    files: {
      'voxform.yaml': withWorkspace('skip: [Agent/*]'),
      'manifests/a.yaml': agent('a'),
      'manifests/n.yaml': number('n', 'number: "1"\noutbound_agent_id: { $ref: Agent/a }'),
    },
    expected: [
      'manifests/n.yaml:7:30 spec.outbound_agent_id skipped-reference Agent/a is skipped in the workspace test and cannot be referenced there',
    ],
  },
  {
    reason: 'skipped resources are not checked',
    files: {
      'voxform.yaml': withWorkspace('skip: ["*/a"]'),
      'manifests/a.yaml': agent('a', 'nope: { $file: none.txt }'),
    },
    expected: [],
  },
  {
    reason: 'a skipped resource that does not exist',
    files: {
      'voxform.yaml': withWorkspace('skip: [Agent/suport, Webhook/*]'),
      'manifests/a.yaml': agent('support'),
    },
    expected: [
      'voxform.yaml:7:12 workspaces.test.skip[0] warning unknown-address no manifest declares Agent/suport; did you mean "Agent/support"?',
      'voxform.yaml:7:26 workspaces.test.skip[1] warning unknown-address no manifest declares a resource that Webhook/* matches',
    ],
  },
  {
    reason: 'skipped kinds that do not exist',
    files: {
      'voxform.yaml': withWorkspace(
        'skip: [Agnt/*, "PhoneNumbr/x*", "Age*/z", Webhok/x, KnowledgeBase/x, "{Webhok,Agnt}/a"]',
      ),
      'manifests/a.yaml': agent('a'),
    },
    expected: [
      'voxform.yaml:7:12 workspaces.test.skip[0] unknown-kind unknown kind "Agnt"; did you mean "Agent"?',
      'voxform.yaml:7:20 workspaces.test.skip[1] unknown-kind unknown kind "PhoneNumbr"; did you mean "PhoneNumber"?',
      'voxform.yaml:7:37 workspaces.test.skip[2] warning unknown-address no manifest declares a resource that Age*/z matches',
      'voxform.yaml:7:47 workspaces.test.skip[3] unknown-kind unknown kind "Webhok"; did you mean "Webhook"?',
      'voxform.yaml:7:57 workspaces.test.skip[4] unknown-kind KnowledgeBase can only be referenced; manifests cannot declare it',
      'voxform.yaml:7:74 workspaces.test.skip[5] unknown-kind unknown kind "{Webhok,Agnt}"; kinds: Agent, PhoneNumber, Webhook, WorkspaceUser',
    ],
  },
  {
    reason: 'skip patterns of every form',
    files: {
      'voxform.yaml': withWorkspace('skip: ["*/a", "{Agent,Webhok}/b", "{Agent/c,Webhook/c}", "**", "A*/d"]'),
      'manifests/a.yaml': ['a', 'b', 'c', 'd'].map((name) => agent(name)).join('---\n'),
    },
    expected: [],
  },
  {
    reason: 'a kind that another workspace skips is unknown',
    files: {
      'voxform.yaml': `${PLAIN_PROJECT}  other: { base_url: "https://x.example", workspace_id: w, skip: [Agnt/a, Agent/none] }\ndefault_workspace: test\n`,
      'manifests/a.yaml': agent('a'),
    },
    expected: ['voxform.yaml:7:67 workspaces.other.skip[0] unknown-kind unknown kind "Agnt"; did you mean "Agent"?'],
  },
  {
    reason: 'a patch for a missing resource',
    files: {
      'voxform.yaml': withWorkspace('patches:\n  Agent/suport: { name: B }'),
      'manifests/a.yaml': agent('support'),
    },
    expected: [
      'voxform.yaml:8:7 workspaces.test.patches.Agent/suport unknown-address no manifest declares Agent/suport; did you mean "Agent/support"?',
    ],
  },
  {
    reason: 'ids for missing resources, invalid ids, and one record twice',
    files: {
      'voxform.yaml': withWorkspace('ids:\n  Agent/suport: A1\n  Agent/support: A2\n  Agent/other: A2'),
      'manifests/a.yaml': `${agent('support')}---\n${agent('other')}`,
    },
    expected: [
      'voxform.yaml:8:7 workspaces.test.ids.Agent/suport unknown-address no manifest declares Agent/suport; did you mean "Agent/support"?',
      'voxform.yaml:10:7 workspaces.test.ids.Agent/other duplicate-id Agent/support has the same id',
    ],
  },
  {
    reason: 'a patch with an invalid value is reported at the patch',
    files: {
      'voxform.yaml': withWorkspace('patches:\n  Agent/a: { llm_config: { max_tokens: many } }'),
      'manifests/a.yaml': agent('a', 'llm_config: { model: m }'),
    },
    expected: [
      'voxform.yaml:8:44 workspaces.test.patches.Agent/a.llm_config.max_tokens wrong-type max_tokens must be a whole number, got "many"',
    ],
  },
  {
    reason: 'a patch with a misspelled key',
    files: {
      'voxform.yaml': withWorkspace('patches:\n  Agent/a:\n    llm_config: { modle: m }'),
      'manifests/a.yaml': agent('a', 'llm_config: { model: m }'),
    },
    expected: [
      'voxform.yaml:9:23 workspaces.test.patches.Agent/a.llm_config.modle unknown-field unknown field "modle"; did you mean "model"?',
    ],
  },
  {
    reason: 'a patch that removes a required field',
    files: {
      'voxform.yaml': withWorkspace('patches: { PhoneNumber/n: { number: null } }'),
      'manifests/n.yaml': number('n', 'number: "1"'),
    },
    expected: [
      'voxform.yaml:7:41 workspaces.test.patches.PhoneNumber/n.number missing-field number is missing; it must be a string of 1 to 12 characters',
    ],
  },
  {
    reason: 'a patch with a reference to a missing resource',
    files: {
      'voxform.yaml': withWorkspace('patches: { PhoneNumber/n: { inbound_agent_id: { $ref: Agent/b } } }'),
      'manifests/n.yaml': number('n', 'number: "1"'),
    },
    expected: [
      'voxform.yaml:7:59 workspaces.test.patches.PhoneNumber/n.inbound_agent_id dangling-reference no manifest declares Agent/b',
    ],
  },
  {
    reason: 'invalid defaults are reported once',
    files: {
      'voxform.yaml': `${PLAIN_PROJECT}defaults:\n  Agent: { stt_config: { provder: x } }\n`,
      'manifests/a.yaml': `${agent('a')}---\n${agent('b')}`,
    },
    expected: [
      'voxform.yaml:8:26 defaults.Agent.stt_config.provder unknown-field unknown field "provder"; did you mean "provider"?',
    ],
  },
  {
    reason: 'defaults of a kind that no manifest declares',
    files: {
      'voxform.yaml': `${PLAIN_PROJECT}defaults:\n  Webhook: { retries: 99, bogus: 1, url: { $ref: Agent/a } }\n  PhoneNumber: { nickname: N }\n`,
      'manifests/a.yaml': agent('a'),
    },
    expected: [
      'voxform.yaml:8:23 defaults.Webhook.retries out-of-range retries must be a whole number between 0 and 10, got 99',
      'voxform.yaml:8:27 defaults.Webhook.bogus unknown-field unknown field "bogus"',
      'voxform.yaml:8:50 defaults.Webhook.url bad-reference url does not accept a reference; $ref belongs in an id field',
    ],
  },
  {
    reason: 'a pattern outside the project hides no invalid defaults',
    files: {
      'voxform.yaml': `manifests: [../x.yaml]\n${PLAIN_PROJECT}defaults: { Agent: { foo: 1 }, Agnt: {} }\n`,
    },
    expected: [
      'voxform.yaml:1:13 manifests[0] outside-project the pattern "../x.yaml" points outside the project folder',
      'voxform.yaml:8:22 defaults.Agent.foo unknown-field unknown field "foo"',
      'voxform.yaml:8:32 defaults.Agnt unknown-kind unknown kind "Agnt"; did you mean "Agent"?',
    ],
  },
  {
    reason: 'defaults replaced by one value form',
    files: {
      'voxform.yaml': `${PLAIN_PROJECT}defaults: { Agent: { $literal: { name: A } } }\n`,
      'manifests/a.yaml': agent('a'),
    },
    expected: [
      'voxform.yaml:7:20 defaults.Agent bad-form the defaults of Agent must be an object of fields; value forms are for single fields only',
    ],
  },
  {
    reason: 'a variable and a secret that only unused defaults need',
    mode: 'live',
    files: {
      'voxform.yaml': `${PLAIN_PROJECT}defaults: { Agent: { name: { $var: none }, llm_config: { api_key: { $secret: NONE } } } }\n`,
      'manifests/u.yaml': user('u', 'email: a@b.c'),
    },
    expected: [],
  },
  {
    reason: 'defaults of an unknown kind',
    files: { 'voxform.yaml': `${PLAIN_PROJECT}defaults: { Agents: {} }\n`, 'manifests/a.yaml': agent('a') },
    expected: ['voxform.yaml:7:13 defaults.Agents unknown-kind unknown kind "Agents"; did you mean "Agent"?'],
  },
  {
    reason: 'files that are not text',
    files: {
      'prompts/latin1.md': new Uint8Array([0x67, 0xfc, 0x6e]),
      'prompts/large.md': 'x'.repeat(1024 * 1024 + 1),
      'manifests/a.yaml': agent(
        'a',
        'name: { $file: ../prompts }\nprompt_config: { prompt: { $file: ../prompts/latin1.md }, welcome_message: { $file: ../prompts/large.md } }',
      ),
    },
    expected: [
      'manifests/a.yaml:6:18 spec.name not-a-file $file: prompts: expected a file, got a folder',
      'manifests/a.yaml:7:37 spec.prompt_config.prompt invalid-utf8 $file: prompts/latin1.md: the file is not valid UTF-8; save it in that encoding',
      'manifests/a.yaml:7:87 spec.prompt_config.welcome_message file-too-large $file: prompts/large.md: the file has 1048577 bytes, more than 1 MiB (1048576); split it',
    ],
  },
  {
    reason: 'a misspelled variable',
    files: {
      'voxform.yaml': withWorkspace('vars: { company: Acme }'),
      'manifests/a.yaml': agent('a', 'name: { $var: compny }'),
    },
    expected: [
      'manifests/a.yaml:6:17 spec.name missing-var the workspace has no variable "compny" under vars; did you mean "company"?',
    ],
  },
  {
    reason: 'a variable of the wrong type is reported at its use',
    files: {
      'voxform.yaml': withWorkspace('vars: { company: 5 }'),
      'manifests/a.yaml': agent('a', 'name: { $var: company }'),
    },
    expected: [
      'voxform.yaml:7:22 workspaces.test.vars.company wrong-type name must be a string of at most 255 characters, but YAML reads it as the number 5; put it in quotes',
    ],
  },
  {
    reason: 'a variable that refers to a missing resource',
    files: {
      'voxform.yaml': withWorkspace('vars: { line: { $ref: Agent/none } }'),
      'manifests/n.yaml': number('n', 'number: "1"\ninbound_agent_id: { $var: line }'),
    },
    expected: ['voxform.yaml:7:27 workspaces.test.vars.line dangling-reference no manifest declares Agent/none'],
  },
  {
    reason: 'a secret may be unset offline',
    files: { 'manifests/a.yaml': agent('a', 'llm_config: { api_key: { $secret: KEY } }') },
    expected: [],
  },
  {
    reason: 'an unset secret',
    mode: 'live',
    files: { 'manifests/a.yaml': agent('a', 'llm_config: { api_key: { $secret: KEY } }') },
    expected: [
      'manifests/a.yaml:6:37 spec.llm_config.api_key missing-secret the secret KEY is not set in the environment or .env',
    ],
  },
  {
    reason: 'an empty secret',
    mode: 'offline-with-secrets',
    env: { KEY: '', PLATFORM_KEY: 'k' },
    files: { 'manifests/a.yaml': agent('a', 'llm_config: { api_key: { $secret: KEY } }') },
    expected: [
      'manifests/a.yaml:6:37 spec.llm_config.api_key missing-secret the secret KEY is empty in the environment',
    ],
  },
  {
    reason: 'a secret without a file',
    mode: 'live',
    files: {
      'voxform.yaml': withWorkspace('secrets_dir: secrets'),
      'manifests/a.yaml': agent('a', 'llm_config: { api_key: { $secret: KEY } }'),
    },
    expected: [
      'manifests/a.yaml:6:37 spec.llm_config.api_key missing-secret the secret KEY is not set in the environment or .env, and is missing or empty in secrets_dir',
    ],
  },
  {
    reason: 'a secret of the wrong form, which is not printed',
    mode: 'live',
    env: { URL: 'hunter2' },
    files: { 'manifests/a.yaml': agent('a', 'llm_config: { base_url: { $secret: URL } }') },
    expected: [
      'manifests/a.yaml:6:27 spec.llm_config.base_url bad-format base_url must be a URL, but the value of the secret URL is not',
    ],
  },
  {
    reason: 'an unset environment variable',
    mode: 'live',
    files: { 'manifests/a.yaml': agent('a', 'name: { $env: NAME }') },
    expected: ['manifests/a.yaml:6:17 spec.name missing-variable the environment variable NAME is not set'],
  },
  {
    reason: 'an environment variable with an invalid value',
    env: { ROLE: 'chief' },
    files: { 'manifests/u.yaml': user('u', 'email: a@b.c\nrole: { $env: ROLE }') },
    expected: [
      'manifests/u.yaml:7:9 spec.role not-allowed role must be one of "owner", "admin", "developer", "member", got "chief"',
    ],
  },
  {
    reason: 'a variable with an unset environment variable',
    mode: 'live',
    files: {
      'voxform.yaml': withWorkspace('vars: { company: { $env: COMPANY } }'),
      'manifests/a.yaml': agent('a', 'name: { $var: company }'),
    },
    expected: ['manifests/a.yaml:6:17 spec.name missing-variable the environment variable COMPANY is not set'],
  },
  {
    reason: 'a join that is too long',
    env: { LONG: 'x'.repeat(250) },
    files: { 'manifests/a.yaml': agent('a', 'name: { $join: [{ $secret: LONG }, { $env: LONG }] }') },
    expected: [
      'manifests/a.yaml:6:9 spec.name bad-format name must be a string of at most 255 characters, but the joined string is not',
    ],
  },
];

describe('inconsistent manifests', () => {
  it.each(rows)('are reported: $reason', async ({ files, env = {}, mode = 'offline', expected }) => {
    const { diagnostics } = await loadFiles(files, { env, mode });
    expect(diagnostics.map(lineOf)).toEqual(expected);
  });
});
