/** Chromium's own authenticator, and the steps of a person with it. */
import type { CDPSession, Page } from 'playwright-core'

export interface Device {
  readonly cdp: CDPSession
  readonly authenticatorId: string
  credentials(): Promise<{ credentialId: string }[]>
  /** Whether somebody touches it, and passes its check. */
  answers(yes: boolean): Promise<void>
}

/** Gives the tab an authenticator that asks nobody. */
export async function addDevice(page: Page, options: object = {}): Promise<Device> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      ...options,
    },
  })
  return {
    cdp,
    authenticatorId,
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    async answers(yes) {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: yes })
    },
  }
}

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
