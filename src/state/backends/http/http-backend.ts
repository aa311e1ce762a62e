import { z } from 'zod';
import { about, lazyStrictObject } from '../../../values/described.ts';
import type { StateBackend } from '../backend.ts';
import { isPlainAddress, secretSetting, secretTextSetting, withWorkspace } from '../settings.ts';
import { httpStore } from './http-store.ts';
import type { HttpLocation } from './server-lock.ts';

const WORKSPACE_HINT = 'with {workspace} for the name of the workspace';

function address(description: string) {
  return z
    .string()
    .refine((text) => isPlainAddress(withWorkspace(text, 'w')), {
      error: 'expected an http or https URL without a user name, password or fragment; set username and password',
    })
    .meta(about(description, 'https://git.example.com/api/v4/projects/7/terraform/state/{workspace}'));
}

function method(description: string, example: string) {
  return z
    .string()
    .regex(/^[A-Z]+$/, { error: 'expected an HTTP method in capital letters, such as POST' })
    .meta({ description, examples: [example] })
    .optional();
}

const settings = lazyStrictObject(() => ({
  address: address(`Address of the state, ${WORKSPACE_HINT}.`),
  update_method: method('HTTP method that writes the state; default: POST.', 'POST'),
  lock_address: address(`Address of the lock, ${WORKSPACE_HINT}; default: address with /lock appended.`).optional(),
  lock_method: method('HTTP method that locks the state; default: LOCK. For GitLab: POST.', 'POST'),
  unlock_address: address(`Address for unlock requests, ${WORKSPACE_HINT}; default: lock_address.`).optional(),
  unlock_method: method('HTTP method that unlocks the state; default: UNLOCK. For GitLab: DELETE.', 'DELETE'),
  username: secretTextSetting(z.string().min(1), {
    description: 'User name, also as { $secret: NAME } or { $env: NAME }.',
    examples: ['gitlab-ci-token'],
  }).optional(),
  password: secretSetting({
    description: 'Password or token, as { $secret: NAME } or { $env: NAME }. Plain text is refused.',
    examples: [{ $secret: 'STATE_TOKEN' }],
  }).optional(),
}));

export const http: StateBackend<z.infer<ReturnType<typeof settings>>, HttpLocation> = {
  settings,
  description: "Backend of the state: http, a server with Terraform's http protocol, such as GitLab.",
  locationSetting: 'address',
  locate({ username, password, ...settings }, { workspace }) {
    const address = withWorkspace(settings.address, workspace);
    const lockAddress = withWorkspace(settings.lock_address ?? lockAddressOf(address), workspace);
    return {
      address,
      updateMethod: settings.update_method ?? 'POST',
      lockAddress,
      lockMethod: settings.lock_method ?? 'LOCK',
      unlockAddress: withWorkspace(settings.unlock_address ?? lockAddress, workspace),
      unlockMethod: settings.unlock_method ?? 'UNLOCK',
      username,
      password,
    };
  },
  keyOf: ({ address }) => new URL(address).href,
  describe({ address }) {
    // The query may contain a token.
    const { origin, pathname } = new URL(address);
    return origin + pathname;
  },
  open: (location, user) => httpStore({ settings: location, location: http.describe(location, user.root), user }),
};

function lockAddressOf(address: string): string {
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/lock`;
  return url.href;
}
