import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Reading } from '../../parts/loading.tsx'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import { type PresetName, presets, type Values } from '../presets.ts'
import { useConsole } from '../text/console-words.ts'

const read = (path: string) => ask<{ issuer: string }>(path).then(({ issuer }) => issuer)

/** The settings on the other side. Without a secret, those that can be shown again. */
export function Paste({ preset, of }: { preset: PresetName; of: Omit<Values, 'issuer'> }) {
  // The page may have been opened by another name than the issuer's.
  const issuer = useResource('/.well-known/oauth-authorization-server', read)
  return (
    <>
      <Reading of={issuer} />
      {issuer.data && (
        <dl className="paste">
          {presets[preset].paste({ ...of, issuer: issuer.data }).map(
            ([setting, value]) =>
              value !== null && (
                <div key={setting}>
                  <dt>
                    <bdi dir="ltr">{setting}</bdi>
                  </dt>
                  <dd>
                    <Copy label={setting} value={value} />
                  </dd>
                </div>
              ),
          )}
        </dl>
      )}
    </>
  )
}

export function PasteDialog({
  title,
  preset,
  of,
  onClose,
}: {
  title: string
  preset: PresetName
  of: Omit<Values, 'issuer'>
  onClose(): void
}) {
  const { text: all } = useConsole()
  const text = all.applications
  return (
    <Dialog title={<bdi>{title}</bdi>} onCancel={onClose}>
      <p>{text.paste[preset]}</p>
      {of.secret !== null && <p className="final">{text.secretLead}</p>}
      <Paste preset={preset} of={of} />
      <div className="actions">
        <Button look="main" onPress={onClose}>
          {of.secret === null ? text.close : all.webhooks.close}
        </Button>
      </div>
    </Dialog>
  )
}
