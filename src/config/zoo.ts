import type { ModelSpec } from '../core/model.js';
import { fitModel } from './fit.js';

/**
 * The mixed zoo: many well-known vision models, each in many copies, as in Clockwork's evaluation (61 varieties × 66
 * copies = 4,026 instances). Ordered copy 0 of every variety, then copy 1 of every variety and so on, so that popular
 * functions assigned in blocks drive different varieties.
 */
export function zooModels(varieties: number, copies: number, pageBytes: number): ModelSpec[] {
  const chosen = ZOO_VARIETIES.slice(0, varieties).map(({ name, parametersM, imagesPerS, imageSize }) =>
    fitModel({ name, parameters: parametersM * 1e6, imagesPerS, imageSize }, pageBytes),
  );
  if (copies === 1) return chosen;
  return Array.from({ length: copies }, (_, copy) =>
    chosen.map((model) => ({ ...model, name: `${model.name}-${copy}` })),
  ).flat();
}

/**
 * The bundled zoo, as many models as in Clockwork's evaluation (OSDI 2020, §6): parameters in millions, and images per
 * second at batch 384 to 1024 on an RTX 3090 in mixed precision. Source: pytorch-image-models (timm, Apache-2.0),
 * results/benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv.
 */
export const ZOO_VARIETIES: readonly Variety[] = [
  { name: 'resnet50', parametersM: 25.56, imagesPerS: 3219.06, imageSize: 224 },
  { name: 'mobilenetv2_100', parametersM: 3.5, imagesPerS: 8629.73, imageSize: 224 },
  { name: 'vgg16', parametersM: 138.36, imagesPerS: 1021.7, imageSize: 224 },
  { name: 'densenet121', parametersM: 7.98, imagesPerS: 2764.41, imageSize: 224 },
  { name: 'efficientnet_b0', parametersM: 5.29, imagesPerS: 6924.93, imageSize: 224 },
  { name: 'resnet18', parametersM: 11.69, imagesPerS: 9260.29, imageSize: 224 },
  { name: 'inception_v3', parametersM: 23.83, imagesPerS: 2349.22, imageSize: 299 },
  { name: 'resnext50_32x4d', parametersM: 25.03, imagesPerS: 2577.31, imageSize: 224 },
  { name: 'vit_small_patch16_224', parametersM: 22.05, imagesPerS: 4584.86, imageSize: 224 },
  { name: 'regnety_032', parametersM: 19.44, imagesPerS: 2852.43, imageSize: 224 },
  { name: 'resnet152', parametersM: 60.19, imagesPerS: 1373.51, imageSize: 224 },
  { name: 'mobilenetv3_large_100', parametersM: 5.48, imagesPerS: 11135.72, imageSize: 224 },
  { name: 'vgg19', parametersM: 143.67, imagesPerS: 1266.93, imageSize: 224 },
  { name: 'densenet169', parametersM: 14.15, imagesPerS: 2245.68, imageSize: 224 },
  { name: 'efficientnet_b1', parametersM: 7.79, imagesPerS: 4846.84, imageSize: 224 },
  { name: 'resnet34', parametersM: 21.8, imagesPerS: 5454.89, imageSize: 224 },
  { name: 'inception_v4', parametersM: 42.68, imagesPerS: 1197.2, imageSize: 299 },
  { name: 'seresnet50', parametersM: 28.09, imagesPerS: 2831.5, imageSize: 224 },
  { name: 'deit_small_patch16_224', parametersM: 22.05, imagesPerS: 4586.09, imageSize: 224 },
  { name: 'regnetx_032', parametersM: 15.3, imagesPerS: 3027.88, imageSize: 224 },
  { name: 'resnet101', parametersM: 44.55, imagesPerS: 1956.19, imageSize: 224 },
  { name: 'mnasnet_100', parametersM: 4.38, imagesPerS: 9763.25, imageSize: 224 },
  { name: 'vgg11', parametersM: 132.86, imagesPerS: 2887.76, imageSize: 224 },
  { name: 'densenet201', parametersM: 20.01, imagesPerS: 1750.03, imageSize: 224 },
  { name: 'efficientnet_b2', parametersM: 9.11, imagesPerS: 3835.68, imageSize: 256 },
  { name: 'wide_resnet50_2', parametersM: 68.88, imagesPerS: 1825.62, imageSize: 224 },
  { name: 'xception41', parametersM: 26.97, imagesPerS: 1160.72, imageSize: 299 },
  { name: 'seresnext50_32x4d', parametersM: 27.56, imagesPerS: 2326.69, imageSize: 224 },
  { name: 'vit_base_patch16_224', parametersM: 86.57, imagesPerS: 1570.66, imageSize: 224 },
  { name: 'regnety_008', parametersM: 6.26, imagesPerS: 7721.37, imageSize: 224 },
  { name: 'resnetv2_50', parametersM: 25.55, imagesPerS: 3355.79, imageSize: 224 },
  { name: 'ghostnet_100', parametersM: 5.18, imagesPerS: 9881.78, imageSize: 224 },
  { name: 'vgg13', parametersM: 133.05, imagesPerS: 1872.83, imageSize: 224 },
  { name: 'densenet161', parametersM: 28.68, imagesPerS: 1249.24, imageSize: 224 },
  { name: 'efficientnet_b3', parametersM: 12.23, imagesPerS: 2184.31, imageSize: 288 },
  { name: 'resnet50d', parametersM: 25.58, imagesPerS: 3025.46, imageSize: 224 },
  { name: 'inception_resnet_v2', parametersM: 55.84, imagesPerS: 965.48, imageSize: 299 },
  { name: 'resnest50d', parametersM: 27.48, imagesPerS: 2025.99, imageSize: 224 },
  { name: 'deit_tiny_patch16_224', parametersM: 5.72, imagesPerS: 10236.41, imageSize: 224 },
  { name: 'regnety_160', parametersM: 83.59, imagesPerS: 1070.01, imageSize: 224 },
  { name: 'resnetv2_101', parametersM: 44.54, imagesPerS: 2011.15, imageSize: 224 },
  { name: 'fbnetc_100', parametersM: 5.57, imagesPerS: 7646.21, imageSize: 224 },
  { name: 'convnext_tiny', parametersM: 28.59, imagesPerS: 3090.39, imageSize: 224 },
  { name: 'dpn68', parametersM: 12.61, imagesPerS: 3074.12, imageSize: 224 },
  { name: 'efficientnet_lite0', parametersM: 4.65, imagesPerS: 7979.97, imageSize: 224 },
  { name: 'res2net50_26w_4s', parametersM: 25.7, imagesPerS: 2515.04, imageSize: 224 },
  { name: 'swin_tiny_patch4_window7_224', parametersM: 28.29, imagesPerS: 1994.25, imageSize: 224 },
  { name: 'cspresnet50', parametersM: 21.62, imagesPerS: 3155.9, imageSize: 256 },
  { name: 'mixer_b16_224', parametersM: 59.88, imagesPerS: 1632.43, imageSize: 224 },
  { name: 'regnetx_008', parametersM: 7.26, imagesPerS: 8145.67, imageSize: 224 },
  { name: 'dla34', parametersM: 15.74, imagesPerS: 4805.9, imageSize: 224 },
  { name: 'spnasnet_100', parametersM: 4.42, imagesPerS: 8850.63, imageSize: 224 },
  { name: 'convnext_small', parametersM: 50.22, imagesPerS: 1866.18, imageSize: 224 },
  { name: 'dla60', parametersM: 22.04, imagesPerS: 3019.09, imageSize: 224 },
  { name: 'rexnet_100', parametersM: 4.8, imagesPerS: 6759.37, imageSize: 224 },
  { name: 'selecsls60', parametersM: 30.67, imagesPerS: 4624.54, imageSize: 224 },
  { name: 'hrnet_w18', parametersM: 21.3, imagesPerS: 1781.62, imageSize: 224 },
  { name: 'cspdarknet53', parametersM: 27.64, imagesPerS: 1989.31, imageSize: 256 },
  { name: 'vit_tiny_patch16_224', parametersM: 5.72, imagesPerS: 10231.54, imageSize: 224 },
  { name: 'ese_vovnet39b', parametersM: 24.57, imagesPerS: 2750.44, imageSize: 224 },
  { name: 'repvgg_b0', parametersM: 15.82, imagesPerS: 4553.06, imageSize: 224 },
];

interface Variety {
  readonly name: string;
  /** Millions of parameters. */
  readonly parametersM: number;
  /** Measured throughput. */
  readonly imagesPerS: number;
  /** Width and height of an image, pixels. */
  readonly imageSize: number;
}
