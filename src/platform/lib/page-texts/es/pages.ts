import type { PageTexts } from '../page-texts.ts'

export const text: PageTexts = {
  links: { help: 'Ayuda', privacy: 'Privacidad' },
  notFound: {
    title: 'Página no encontrada',
    lead: 'Puede que la dirección esté mal escrita o que la página ya no exista.',
    home: 'Ir a la página de inicio',
  },
  refusal: {
    title: 'No es posible iniciar sesión así',
    lead: 'La aplicación que le ha traído aquí ha cometido un error. Vuelva a ella e inténtelo de nuevo. Si no funciona, avise a sus responsables.',
    reason: 'Para ellos:',
  },
  card: {
    verdicts: {
      active: {
        heading: 'Auténtico: estudia aquí actualmente',
        lead: 'La escuela confirma que esta persona es estudiante actualmente.',
      },
      inactive: {
        heading: 'Actualmente no estudia aquí',
        lead: 'El carné es auténtico, pero esta persona no es actualmente estudiante de la escuela.',
      },
      expired: {
        heading: 'Este carné ha caducado',
        lead: 'Era auténtico, pero un carné solo vale cinco minutos. Pida a la persona que lo muestre de nuevo.',
      },
      none: {
        heading: 'No es un carné de esta escuela',
        lead: 'La escuela no conoce este carné. Es falso, está mal escrito o tiene más de un día. No lo acepte.',
      },
    },
    name: 'Nombre',
    number: 'Número de estudiante',
    school: 'Escuela',
    year: 'Curso',
    checked: 'Comprobado',
    validUntil: 'Carné válido hasta',
  },
}
