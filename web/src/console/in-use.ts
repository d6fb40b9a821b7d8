/** Whether somebody sits in front of the page: a screen left alone must not keep its session alive by asking on. */
const patienceMs = 10 * 60_000

let lastInputAt = Date.now()
for (const kind of ['pointerdown', 'keydown', 'wheel'])
  addEventListener(
    kind,
    () => {
      lastInputAt = Date.now()
    },
    { passive: true },
  )

export const isInUse = (): boolean =>
  document.visibilityState === 'visible' && Date.now() - lastInputAt < patienceMs
