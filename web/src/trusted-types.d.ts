/** The part of Trusted Types that the portal uses; TypeScript's own library has none yet. */
interface TrustedScriptURL {
  toString(): string
}

interface Window {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(input: string): string },
    ): { createScriptURL(input: string): TrustedScriptURL }
  }
}

interface ServiceWorkerContainer {
  register(scriptURL: TrustedScriptURL | string): Promise<ServiceWorkerRegistration>
}
