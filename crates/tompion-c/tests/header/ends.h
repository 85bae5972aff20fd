
#ifdef __cplusplus
}
#endif

#endif /* TOMPION_H */
