/** @module-tag long */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { CACHES, voxform } from '../cli/voxform-process.ts';
import { agent, editedProject } from './edited-project.ts';

const isHere = spawnSync('nvim', ['--version']).error === undefined;

const number = `apiVersion: voxform/v1
kind: PhoneNumber
metadata:
  name: main
spec:
  number: "+12025550101"
  inbound_agent_id: { $ref: Agent/day }
  outbound_agent_id: { $ref: Agent/d }
`;

/** The actions of a person, and the expected state of the editor after each. */
const session = `
local shown = {}
local function wait(what, holds)
  if not vim.wait(30000, holds, 10) then
    shown.missing = what
    error('waited for ' .. what)
  end
end
local function act()
  vim.cmd('edit manifests/number.yaml')
  local number = vim.api.nvim_get_current_buf()
  wait('a dangling reference', function() return #vim.diagnostic.get(number) == 1 end)
  vim.cmd('setlocal noautoindent indentexpr=')
  vim.cmd('normal! Go  nickame: Main')
  wait('a problem of what is typed', function() return #vim.diagnostic.get(number) == 2 end)
  shown.problems = vim.tbl_map(function(each) return each.message end, vim.diagnostic.get(number))
  vim.cmd('normal! dd')
  wait('it to go', function() return #vim.diagnostic.get(number) == 1 end)

  vim.fn.search('Agent/d }')
  vim.cmd('normal! 6l')
  local params = vim.lsp.util.make_position_params()
  params.position.character = params.position.character + 1
  local answers = vim.lsp.buf_request_sync(number, 'textDocument/completion', params, 30000)
  local items = {}
  for _, answer in pairs(answers) do items = answer.result.items or answer.result end
  shown.completed = vim.tbl_map(function(item) return item.label end, items)
  for _, item in ipairs(items) do
    if item.label == 'Agent/day' then vim.lsp.util.apply_text_edits({ item.textEdit }, number, 'utf-16') end
  end
  wait('the reference to be right', function() return #vim.diagnostic.get(number) == 0 end)

  vim.fn.search('Agent/day')
  vim.lsp.buf.definition()
  wait('the definition', function() return vim.fn.expand('%:t') == 'agent.yaml' end)
  shown.definition = { vim.fn.expand('%:t'), vim.fn.getline('.') }

  vim.lsp.buf.rename('noon')
  wait('the rename', function()
    return table.concat(vim.api.nvim_buf_get_lines(number, 0, -1, false), '\\n'):find('Agent/noon') ~= nil
  end)
  vim.cmd('wall')
end
local done, problem = pcall(act)
if not done then shown.problem = tostring(problem) end
vim.fn.writefile({ vim.fn.json_encode(shown) }, 'shown.json')
vim.cmd('qall!')
`;

describe('Neovim', () => {
  it.skipIf(!isHere)(
    `shows problems while typing, and completes, follows and renames a reference${isHere ? '' : ' (NOT RUN: nvim IS MISSING)'}`,
    async () => {
      const text = await readFile(path.join(import.meta.dirname, '../../docs/editor.md'), 'utf8');
      const [settings = ''] = [...text.matchAll(/```lua\n(.*?)```/gs)].map(([, lua]) => lua).slice(1);
      await using folder = await editedProject({
        'manifests/agent.yaml': agent,
        'manifests/number.yaml': number,
        'init.lua': settings,
        'session.lua': session,
        'bin/voxform': `#!/bin/sh\nexec '${process.execPath}' '${path.join(inject('built'), 'main.js')}' "$@"\n`,
      });
      const { root } = folder;
      await chmod(path.join(root, 'bin/voxform'), 0o755);
      const env = {
        PATH: `${path.join(root, 'bin')}:${process.env.PATH}`,
        HOME: root,
        XDG_CACHE_HOME: CACHES,
      };
      const args = ['--headless', '-n', '-i', 'NONE', '-u', 'init.lua', '-c', 'luafile session.lua'];
      const editor = spawn('nvim', args, { cwd: root, env, stdio: 'ignore' });
      const [code] = await once(editor, 'close');
      expect(code).toBe(0);
      const { problems, ...shown } = JSON.parse(await readFile(path.join(root, 'shown.json'), 'utf8'));
      expect(shown).toEqual({
        completed: expect.arrayContaining(['Agent/day']),
        definition: ['agent.yaml', '  name: day'],
      });
      expect(problems.toSorted()).toEqual([
        'no manifest declares Agent/d; did you mean "Agent/day"?',
        'unknown field "nickame"; did you mean "nickname"?',
      ]);
      expect(await readFile(path.join(root, 'manifests/agent.yaml'), 'utf8')).toContain(
        'name: noon\n  previous_names:\n    - day\n',
      );
      expect((await readFile(path.join(root, 'manifests/number.yaml'), 'utf8')).match(/Agent\/noon/g)).toHaveLength(2);
      expect((await voxform(['validate'], { cwd: root })).stdout).toContain('Valid');
    },
  );
});
