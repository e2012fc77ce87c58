/* The names that the proposal of memory spaces has, for programs that define
 * SHMEMX_SPACES_AS_PROPOSED before they include shmemx.h. */
#ifndef SY_SHMEMX_PROPOSED_H
#define SY_SHMEMX_PROPOSED_H

#include "../shmemx.h"

#define SHMEM_DEVICE_CPU  SHMEMX_DEVICE_CPU
#define SHMEM_DEVICE_FILE SHMEMX_DEVICE_FILE
#define SHMEM_DEVICE_GPU  SHMEMX_DEVICE_GPU
#define SHMEM_DEVICE_USER SHMEMX_DEVICE_USER

#define SHMEM_SPACE_INVALID           SHMEMX_SPACE_INVALID
#define SHMEM_SPACE_DEFAULT           SHMEMX_SPACE_DEFAULT
#define SHMEM_SPACE_FLAG_DEFAULT      SHMEMX_SPACE_FLAG_DEFAULT
#define SHMEM_SPACE_CAP_RMA           SHMEMX_SPACE_CAP_RMA
#define SHMEM_SPACE_CAP_COLLECTIVES   SHMEMX_SPACE_CAP_COLLECTIVES
#define SHMEM_SPACE_CAP_ATOMICS       SHMEMX_SPACE_CAP_ATOMICS
#define SHMEM_SPACE_CAP_DIRECT_ACCESS SHMEMX_SPACE_CAP_DIRECT_ACCESS
#define SHMEM_SPACE_CAP_WORLD_ACCESS  SHMEMX_SPACE_CAP_WORLD_ACCESS
#define SHMEM_SPACE_CAP_IDENT_ADDR    SHMEMX_SPACE_CAP_IDENT_ADDR

#define shmem_device_type_t  shmemx_device_type_t
#define shmem_space_config_t shmemx_space_config_t
#define shmem_space_t        shmemx_space_t
#define shmem_space_cap_t    shmemx_space_cap_t

#define shmem_space_create          shmemx_space_create
#define shmem_space_destroy         shmemx_space_destroy
#define shmem_space_malloc          shmemx_space_malloc
#define shmem_space_calloc          shmemx_space_calloc
#define shmem_space_free            shmemx_space_free
#define shmem_space_get_team        shmemx_space_get_team
#define shmem_space_get_device_type shmemx_space_get_device_type
#define shmem_space_get_caps        shmemx_space_get_caps
#define shmem_get_space             shmemx_get_space
#define shmem_team_get_space        shmemx_team_get_space
#define shmem_team_is_valid         shmemx_team_is_valid

#endif
