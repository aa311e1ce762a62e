import { expect, it } from 'vitest';
import { userFolder } from '../../src/files/user-folder.ts';

it.each([
  { env: { XDG_STATE_HOME: '/s', HOME: '/h' }, state: '/s/voxform', cache: '/h/.cache/voxform' },
  { env: { XDG_CACHE_HOME: '/c', HOME: '/h' }, state: '/h/.local/state/voxform', cache: '/c/voxform' },
  { env: { LOCALAPPDATA: '/l', HOME: '/h' }, state: '/l/voxform', cache: '/l/voxform' },
  {
    env: { XDG_STATE_HOME: 'relative', XDG_CACHE_HOME: 'relative', HOME: '/h' },
    state: '/h/.local/state/voxform',
    cache: '/h/.cache/voxform',
  },
  { env: { HOME: '' }, state: undefined, cache: undefined },
  { env: {}, state: undefined, cache: undefined },
])('userFolder returns the folders for $env', ({ env, state, cache }) => {
  expect([userFolder('state', env), userFolder('cache', env)]).toEqual([state, cache]);
});
