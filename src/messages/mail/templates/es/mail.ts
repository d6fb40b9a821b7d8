import type { MailTexts } from '../texts.ts'

const subject = (reference: string) => `Acerca de su acceso (referencia ${reference})`
const unasked =
  'Si no fue usted quien intentó entrar, no tiene que hacer nada: nadie ha entrado en su nombre.'

export const text: MailTexts = {
  code: {
    subject: (reference) => `Su código de acceso (referencia ${reference})`,
    greeting: (name) => (name === null ? 'Hola:' : `Hola, ${name}:`),
    intro: 'Este es su código para entrar en Chiron:',
    reference: (reference) => `La pantalla que lo pide muestra la referencia ${reference}.`,
    lifetime: (minutes, until) =>
      `El código sirve una sola vez, durante ${minutes} minutos: hasta las ${until}.`,
    never: 'Nadie de la escuela se lo pedirá nunca. No se lo dé a nadie.',
    unasked:
      'Si usted no ha pedido un código, ignore este mensaje: sin el código nadie puede entrar en su nombre.',
  },
  addressCode: {
    subject: (reference) => `Confirme su nueva dirección (referencia ${reference})`,
    intro:
      'Una persona con sesión abierta en Chiron quiere usar esta dirección para su cuenta de veterinario. Si es usted, introduzca este código:',
    unasked: 'Si no ha sido usted, ignore este mensaje: sin el código no cambia nada.',
  },
  stepUpCode: {
    subject: (reference) => `Confirme que es usted (referencia ${reference})`,
    intro:
      'Una persona con sesión abierta en su cuenta quiere hacer algo que requiere confirmación. Si es usted, introduzca este código:',
    unasked:
      'Si no ha sido usted, no dé el código a nadie, entre en su cuenta para cerrar todas las demás sesiones y escriba a la escuela.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de acceso para esta dirección, pero no le corresponde ninguna cuenta de veterinario.',
        `Si fue usted, regístrese primero y pida después un código: ${url}`,
        'Quizá se registró con otra dirección, o hace más de siete días sin haber entrado; en ese caso, regístrese de nuevo.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de veterinario para esta dirección, pero figura en la lista de la escuela como la de un estudiante.',
        `Si fue usted, elija «Estudiante» en la página de acceso y pida de nuevo un código: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de estudiante para esta dirección, pero pertenece a una cuenta de veterinario.',
        `Si fue usted, elija «Veterinario» en la página de acceso y pida de nuevo un código: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Alguien ha pedido un código de estudiante para esta dirección, pero no figura en la lista de la escuela.',
        'Si fue usted, use la dirección que la escuela tiene registrada, o pida a la secretaría que la corrija.',
        unasked,
      ],
    },
    'not-enabled': {
      subject,
      paragraphs: (_url, help) => [
        'Alguien ha pedido un código de estudiante para esta dirección. Figura en la lista de la escuela, pero su acceso no está activado; no se ha creado ningún código.',
        `Si fue usted, pida a la secretaría que lo active, o escriba a la escuela${help}.`,
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Alguien ha pedido un código de acceso a la consola del personal para esta dirección, pero la dirección no es de nadie del personal.',
        'Si fue usted, use la dirección con la que se le dio de alta, o pida al responsable del servicio en la escuela que añada esta.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Su cuenta tiene ahora otra dirección',
      paragraphs: (_url, help) => [
        'La escuela ha cambiado la dirección de su cuenta de veterinario, que ya no es esta, y ha cerrado todas sus sesiones.',
        `Si no lo ha pedido usted, escriba a la escuela${help} cuanto antes.`,
      ],
    },
    'address-taken': {
      subject: () => 'Su cuenta tiene ahora esta dirección',
      paragraphs: (url, help) => [
        'La escuela ha asociado una cuenta de veterinario a esta dirección. A partir de ahora los códigos de acceso se envían aquí.',
        `Puede entrar aquí: ${url}`,
        `Si no tiene ninguna cuenta, escriba a la escuela${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `Acerca de su nueva dirección (referencia ${reference})`,
      paragraphs: (url) => [
        'Una persona con sesión abierta en Chiron quería usar esta dirección para su cuenta, pero ya la usa otra cuenta de veterinario; no se ha creado ningún código.',
        `Si fue usted, entre con esta dirección: ${url}`,
        'Si no fue usted, no tiene que hacer nada: no ha cambiado nada.',
      ],
    },
    'address-moved': {
      subject: () => 'Su cuenta tiene ahora otra dirección',
      paragraphs: () => [
        'Una persona que había entrado en su cuenta de veterinario ha cambiado la dirección, que antes era esta. Se han cerrado todas las demás sesiones.',
        'Si no ha sido usted, escriba a la escuela cuanto antes.',
      ],
    },
    'passkey-added': {
      subject: () => 'Se ha añadido una llave de acceso a su cuenta',
      paragraphs: (url, help) => [
        'Una persona que había entrado en su cuenta ha añadido una llave de acceso. Con ella se puede entrar sin código.',
        `Aquí puede ver sus llaves de acceso y eliminarlas: ${url}`,
        `Si no ha sido usted, elimine la llave, cierre todas las demás sesiones y escriba a la escuela${help} cuanto antes.`,
      ],
    },
    'passkey-removed': {
      subject: () => 'Se ha eliminado una llave de acceso de su cuenta',
      paragraphs: (url, help) => [
        'Se ha eliminado una llave de acceso de su cuenta. Ya no sirve para entrar. Siempre puede entrar con un código enviado a esta dirección.',
        `Aquí puede ver sus llaves de acceso: ${url}`,
        `Si no ha sido ni usted ni la escuela, escriba a la escuela${help} cuanto antes.`,
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Alguien ha pedido un código de acceso para esta dirección, pero su cuenta está suspendida; no se ha creado ningún código.',
        `Si cree que se trata de un error, escriba a la escuela${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `El webhook a ${host} se ha desactivado`,
    paragraphs: [
      because === 'gone'
        ? `El programa de ${host} ha respondido 410 Gone: no quiere recibir más eventos. Su webhook se ha desactivado (${id}).`
        : `El programa de ${host} lleva tres días sin aceptar ningún evento. Su webhook se ha desactivado (${id}) y los eventos pendientes se han descartado.`,
      'Cuando el programa vuelva a funcionar, active el webhook en la consola, en Webhooks. Recibirá entonces los eventos nuevos; «Enviar de nuevo» envía los que perdió.',
      `La consola: ${url}`,
    ],
  }),
  footer: (name) =>
    `Enviado por Chiron, el servicio de acceso de la escuela veterinaria${name === null ? '' : ` (${name})`}. Las respuestas a este mensaje no se leen.`,
  help: (where) => `Ayuda: ${where}`,
  privacy: (where) => `Privacidad: ${where}`,
}
